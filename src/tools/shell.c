/* shell.c - shell.run. A command runs with /bin/sh -c in a process group of its own, with nothing on its standard input
 * and no key in its environment. Of what it prints the beginning and the end are kept, in the order in which it was
 * printed. */
#include "tools/shell.h"
#include "sys/child.h"
#include <signal.h>

static const agent_tool shell_tool = {
    .about =
        {LIT("shell.run"),
         LIT("Runs a command with /bin/sh -c in the root folder and gives what it prints (standard output and "
             "error) and its exit code. Nothing is on its standard input; what it leaves running in the background "
             "is ended with it. `seconds`: so long it may take, 120 unless said."),
         LIT("{\"type\":\"object\",\"properties\":{\"command\":{\"type\":\"string\"},\"seconds\":{\"type\":"
             "\"integer\",\"minimum\":1,\"maximum\":3600}},\"required\":[\"command\"],\"additionalProperties\":"
             "false}"),
         DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
    .whole = true,
    .ask = true};

typedef struct shell_work {
    tool_call *c;
    child *program;
    daruma_ms within;
    size_t printed; /* bytes in all */
    char *head;     /* the first SHELL_HEAD_BYTES of them */
    char *tail;     /* the last SHELL_TAIL_BYTES: a ring; byte i stands at i % SHELL_TAIL_BYTES */
    size_t odd;     /* bytes of it that no text has */
    bool flood;     /* it was ended because it printed too much */
} shell_work;

/* True for control characters but those of layout, colours and bars of progress. */
static bool is_odd(unsigned char c)
{
    return c < ' ' && !(c >= '\b' && c <= '\r') && c != '\033';
}

static void on_out(child *c, daruma_str bytes, void *user)
{
    shell_work *w = user;
    for (size_t i = 0; i < bytes.n; i++, w->printed++) {
        if (w->printed < SHELL_HEAD_BYTES)
            w->head[w->printed] = bytes.p[i];
        w->tail[w->printed % SHELL_TAIL_BYTES] = bytes.p[i];
        w->odd += is_odd((unsigned char)bytes.p[i]);
    }
    if (w->printed > SHELL_PRINTED_BYTES_MAX && !w->flood) {
        w->flood = true;
        child_stop(c, SHELL_GRACE_MS);
    }
}

/* What was printed; what was left out of it is said where it was. */
static void put_printed(const shell_work *w, daruma_buf *out)
{
    size_t head = w->printed < SHELL_HEAD_BYTES ? w->printed : SHELL_HEAD_BYTES;
    bool text = w->odd <= w->printed / SHELL_ODD_SHARE;
    head = text || head < SHELL_ODD_BYTES ? head : SHELL_ODD_BYTES;
    size_t rest = w->printed - head, tail = !text ? 0 : rest < SHELL_TAIL_BYTES ? rest : SHELL_TAIL_BYTES;
    buf_put(out, (daruma_str){w->head, head});
    if (rest > tail)
        buf_printf(out, "\n[... %zu bytes were left out%s ...]\n", rest - tail, text ? "" : ": they are no text");
    size_t from = (w->printed - tail) % SHELL_TAIL_BYTES, first = SHELL_TAIL_BYTES - from;
    first = first < tail ? first : tail;
    buf_put(out, (daruma_str){w->tail + from, first});
    buf_put(out, (daruma_str){w->tail, tail - first});
}

/* How it ended comes first: that is what a reader of failures looks for. */
static void put_end(const shell_work *w, const child_end *e, daruma_buf *out)
{
    if (e->late) {
        BUF_LIT(out, "TIMEOUT: the command timed out: it did not end within ");
        buf_duration(out, w->within);
        BUF_LIT(out, " and was ended; what it did until then stays\nNext step: look what it did, then allow more "
                     "`seconds`, or let it do less at a time\n");
    } else if (w->flood) {
        BUF_LIT(out, "OUTPUT_TOO_LARGE: the command printed too much and was ended; what it did until then stays\n"
                     "Next step: send its output to a file, or ask for less of it\n");
    } else if (e->signal) {
        buf_printf(out, "Ended by signal %d (%s)\n", e->signal, strsignal(e->signal));
    } else if (e->code) {
        buf_printf(out, "Exit code %d\n", e->code);
        if (e->code == 127)
            BUF_LIT(out, "Next step: the shell did not find a program of that name; look which there are\n");
    }
}

static void on_end(child *p, const child_end *e, void *user)
{
    shell_work *w = user;
    daruma_buf *out = &w->c->out;
    bool cut_off = e->late || w->flood || e->signal;
    (void)p;
    put_end(w, e, out);
    put_printed(w, out);
    if (!out->n)
        BUF_LIT(out, "(it printed nothing; exit code 0)");
    tool_over(w->c, !cut_off && e->code == 0, cut_off);
}

static void start(tool_call *c)
{
    static const child_ops ops = {.out = on_out, .end = on_end};
    shell_work *w = ARENA_NEW(&c->room, shell_work, 1);
    char why[256] = "there is no memory for it";
    if (w) {
        w->c = c;
        w->head = arena_raw(&c->room, SHELL_HEAD_BYTES, 1);
        w->tail = arena_raw(&c->room, SHELL_TAIL_BYTES, 1);
    }
    daruma_str command = json_text(json_get(c->args, S("command")), &c->room);
    int64_t seconds = json_int(json_get(c->args, S("seconds")), 0);
    char sh[] = "/bin/sh", minus_c[] = "-c", *text = (char *)(uintptr_t)arena_copy(&c->room, command).p;
    char *argv[] = {sh, minus_c, text, NULL}, **env = child_env(NULL, &c->room);
    if (!str_trim(command).n || memchr(command.p, 0, command.n)) {
        tool_fail(c, "MISSING_INPUT", (daruma_str){0}, "`command` is empty, or holds a NUL",
                  "say which command to run");
        return;
    }
    child_setup setup = {.argv = argv, .folder = c->own, .env = env};
    if (!c->room.full && w)
        w->program = child_start(c->loop, &setup, &ops, w, why);
    if (c->room.full || !w->program) {
        tool_fail(c, "INTERNAL_ERROR", S("/bin/sh"), why, "do without commands");
        return;
    }
    c->work = w;
    w->within = tool_within(c, SHELL_MS);
    if (seconds > 0 && seconds <= SHELL_MS_MAX / 1000) { /* the model's word, within the host's */
        daruma_ms most = tool_within(c, SHELL_MS_MAX);
        w->within = seconds * 1000 < most ? seconds * 1000 : most;
    }
    child_within(w->program, w->within, SHELL_GRACE_MS);
}

static void stop(tool_call *c)
{
    shell_work *w = c->work;
    child_stop(w->program, SHELL_GRACE_MS);
}

bool shell_add(toolset *t, const char *folder)
{
    static const tool_source source = {.start = start, .stop = stop};
    return toolset_add(t, &shell_tool, &source, (void *)(uintptr_t)folder);
}
