/* approve.c - the question to a person, and its answer.
 *
 *     terminal   a line on standard input
 *     FILE       the question stands in FILE.question; the answer is read from FILE, and both are removed. One question
 *                at a time stands there, whoever asks: its asker holds a lock on it
 *     URL        the question is posted; the body of the answer is the answer. Not answered yet: posted again
 *
 * An answer is {"answer": "allow" | "deny", "text": "..."}, in a file also the bare word. */
#include "run/approve.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "store/journal.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

struct approve {
    approve_settings s;
    upstream *up;
    url to; /* `way` is a URL */
    daruma_arena memory;
    uv_timer_t look, expiry;
    uv_poll_t in; /* standard input */
    bool is_url, can_read;
    int handles;       /* that are not closed yet */
    bool asking, told; /* ... and people were told what is in the way */
    approve_done done;
    void *user;
    daruma_arena room;   /* of the question at hand */
    daruma_str question; /* as JSON */
    daruma_str name;     /* of the question: "RUN/CALL" */
    char answer_path[JOURNAL_PATH_BYTES], question_path[JOURNAL_PATH_BYTES];
    int held;            /* the question's file, which is locked as long as it stands there; -1: it does not */
    struct timespec old; /* when that came which was read there, and is no answer to the question; 0: nothing was */
    fetch *f;
    int status;
    daruma_buf answer;
    agent_reply reply;
};

/* Is what stands at that path the file of that descriptor? */
static bool is_at(int fd, const char *path)
{
    struct stat own, there;
    return fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

/* The question is taken away, unless somebody did so and another one stands there now. */
static void leave_place(approve *p)
{
    if (p->held < 0)
        return;
    if (is_at(p->held, p->question_path))
        unlink(p->question_path);
    close(p->held);
    p->held = -1;
}

static void stop(approve *p)
{
    uv_timer_stop(&p->look);
    uv_timer_stop(&p->expiry);
    if (p->can_read)
        uv_poll_stop(&p->in);
    if (p->f)
        fetch_cancel(p->f);
    p->f = NULL;
    leave_place(p);
    p->asking = false;
}

static void answered(approve *p, agent_reply r, daruma_str text)
{
    daruma_arena room = p->room; /* the text may live there; who hears of it may ask the next question */
    stop(p);
    p->room = (daruma_arena){0};
    p->done(r, text, p->user);
    sys_arena_done(&room);
}

/* Once a question: what is in the way of its answer. */
static void tell(approve *p, const char *reason)
{
    if (p->told)
        return;
    p->told = true;
    daruma_buf b = buf_in(&p->room);
    BUF_OBJECT(&b, "event", "approval_waits", "question", p->name, "reason", reason);
    if (!b.full)
        p->s.event(buf_str(&b), p->s.user);
}

/* ---- what an answer says ---- */

typedef enum verdict { VERDICT_NONE, VERDICT_WAIT, VERDICT_ALLOW, VERDICT_DENY } verdict;

static verdict word_of(daruma_str word)
{
    static const struct {
        daruma_str word;
        verdict is;
    } rows[] = {{LIT("allow"), VERDICT_ALLOW}, {LIT("allowed"), VERDICT_ALLOW}, {LIT("y"), VERDICT_ALLOW},
                {LIT("yes"), VERDICT_ALLOW},   {LIT("deny"), VERDICT_DENY},     {LIT("denied"), VERDICT_DENY},
                {LIT("n"), VERDICT_DENY},      {LIT("no"), VERDICT_DENY},       {LIT("pending"), VERDICT_WAIT}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_ieq(rows[i].word, word))
            return rows[i].is;
    return VERDICT_NONE;
}

/* The question that an answer names; empty: none. */
static daruma_str named_by(approve *p, daruma_str text)
{
    daruma_str value;
    bool object = json_whole(str_trim(text), &value) && json_is_object(value);
    return object ? json_text(json_get(value, S("question")), &p->room) : (daruma_str){0};
}

/* One that names another question is none. */
static verdict read_answer(approve *p, daruma_str text, daruma_str *ret_text)
{
    daruma_str value, about = named_by(p, text);
    *ret_text = (daruma_str){0};
    if (!json_whole(str_trim(text), &value) || !json_is_object(value))
        return word_of(str_trim(text));
    if (about.n && !str_eq(about, p->name))
        return VERDICT_WAIT;
    *ret_text = json_text(json_get(value, S("text")), &p->room);
    return word_of(json_text(json_get(value, S("answer")), &p->room));
}

static bool settle(approve *p, verdict v, daruma_str text)
{
    if (v != VERDICT_ALLOW && v != VERDICT_DENY)
        return false;
    answered(p, v == VERDICT_ALLOW ? AGENT_ALLOWED : AGENT_DENIED, text);
    return true;
}

/* ---- the terminal ---- */

static void on_line(uv_poll_t *h, int status, int events)
{
    approve *p = h->data;
    char *line = arena_take(&p->room, APPROVE_ANSWER_BYTES, 1);
    (void)events;
    ssize_t n = line && status == 0 ? read(0, line, APPROVE_ANSWER_BYTES) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        answered(p, AGENT_INTERRUPTED, (daruma_str){0});
        return;
    }
    daruma_str rest = str_trim((daruma_str){line, (size_t)n}), all = rest, first = str_cut(&rest, ' ');
    verdict v = word_of(first);
    /* What is no yes is a no; what else was written is for the model. */
    answered(p, v == VERDICT_ALLOW ? AGENT_ALLOWED : AGENT_DENIED, v == VERDICT_NONE ? all : str_trim(rest));
}

/* ---- a file ---- */

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Brings a question to its place, which was locked before. False and EWOULDBLOCK: another one stands there, and who
 * asked it waits for its answer. One that nobody holds was left behind by a run that was killed. */
static bool take_place(const char *fresh, const char *place)
{
    if (link(fresh, place) == 0)
        return unlink(fresh) == 0;
    if (errno != EEXIST)
        return rename(fresh, place) == 0; /* a file system without links */
    int fd = open(place, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) { /* it was taken away just now, or is somebody's whose questions we may not read */
        errno = errno == ENOENT ? EWOULDBLOCK : errno;
        return false;
    }
    bool left = flock(fd, LOCK_EX | LOCK_NB) == 0 && is_at(fd, place);
    bool well = left && rename(fresh, place) == 0;
    int error = left ? errno : EWOULDBLOCK;
    close(fd);
    errno = error;
    return well;
}

static bool write_question(approve *p)
{
    char fresh[JOURNAL_PATH_BYTES + JOURNAL_ID_BYTES];
    snprintf(fresh, sizeof fresh, "%s." STR_FMT, p->question_path, STR_ARG(p->s.run));
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool well = fd >= 0 && write(fd, p->question.p, p->question.n) == (ssize_t)p->question.n &&
                write(fd, "\n", 1) == 1 && flock(fd, LOCK_EX | LOCK_NB) == 0 && take_place(fresh, p->question_path);
    int error = errno;
    if (well)
        p->held = fd;
    else if (fd >= 0)
        close(fd);
    if (!well)
        unlink(fresh);
    errno = error;
    return well;
}

/* Reads what lies where the answer is expected, unless it is what was read before, and tells when that came (0 nothing
 * is there). False: there is nothing new, or it cannot be read, which was told. A pipe or a device is not read: the
 * whole run would wait for whoever writes to it. */
static bool read_file(approve *p, struct timespec *ret_came, daruma_str *ret)
{
    struct stat st;
    char why[256] = "what lies where the answer is expected is no plain file";
    if (stat(p->answer_path, &st) != 0 || same_time(st.st_mtim, p->old))
        return false;
    *ret_came = st.st_mtim;
    if (S_ISREG(st.st_mode) && sys_read_file(p->answer_path, APPROVE_ANSWER_BYTES, &p->room, ret, why))
        return true;
    tell(p, why);
    return false;
}

static void ask_file(approve *p);

static void on_look(uv_timer_t *t)
{
    approve *p = t->data;
    daruma_str text, says;
    struct timespec came;
    if (p->held >= 0 && access(p->question_path, F_OK) == 0 && !is_at(p->held, p->question_path))
        leave_place(p); /* somebody took our question away, and another run asks there: what is answered is its own */
    if (p->held < 0)
        ask_file(p);
    if (p->held < 0 || !read_file(p, &came, &text))
        return;
    p->old = came;
    verdict v = read_answer(p, text, &says);
    if (v == VERDICT_NONE && text.n && text.p[text.n - 1] == '\n') /* else it is still being written */
        tell(p, "the file holds no answer; {\"answer\": \"allow\"} or {\"answer\": \"deny\"} is one");
    if (v == VERDICT_ALLOW || v == VERDICT_DENY)
        unlink(p->answer_path); /* before another run may ask there: what lies there then is its own */
    settle(p, v, says);
}

static void on_expiry(uv_timer_t *t);

/* What lies there already answers another question, unless it names this one: then it came while nobody looked. What
 * answers an earlier one of this run was read, and would stand in the way of whoever waits for the file to be gone. */
static void look_at_old(approve *p)
{
    struct timespec none = {0}, came = none;
    daruma_str text, run = str_sub(p->name, 0, p->s.run.n + 1);
    daruma_arena was = p->room; /* a run that waits for the place looks often */
    p->old = none;
    daruma_str name = read_file(p, &came, &text) ? named_by(p, text) : (daruma_str){0};
    if (!name.n)
        p->old = came;
    else if (str_starts(name, run) && !str_eq(name, p->name))
        unlink(p->answer_path);
    arena_back(&p->room, was);
}

static void ask_file(approve *p)
{
    char why[256];
    look_at_old(p);
    bool put = write_question(p);
    if (!put && errno == EWOULDBLOCK) {
        tell(p, "another run asks there, and is answered first");
    } else if (!put) {
        snprintf(why, sizeof why, "the question cannot be written to %.150s: %.60s", p->question_path, strerror(errno));
        tell(p, why);
        p->reply = AGENT_EXPIRED;
        uv_timer_start(&p->expiry, on_expiry, 0, 0);
        return;
    }
    if (!uv_is_active((uv_handle_t *)&p->look))
        uv_timer_start(&p->look, on_look, put ? 0 : APPROVE_LOOK_MS, APPROVE_LOOK_MS);
}

/* ---- a URL ---- */

static void post(approve *p);

static void on_again(uv_timer_t *t)
{
    approve *p = t->data;
    if (!p->f)
        post(p);
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    (void)f;
    ((approve *)user)->status = h->status;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    approve *p = user;
    (void)f;
    if (p->answer.n + bytes.n <= APPROVE_ANSWER_BYTES)
        buf_put(&p->answer, bytes);
}

static void on_end(fetch *f, void *user)
{
    approve *p = user;
    daruma_str says;
    char why[128];
    (void)f;
    p->f = NULL;
    if (p->status == 200 && settle(p, read_answer(p, buf_str(&p->answer), &says), says))
        return;
    if (p->status != 200 && p->status != 202 && p->status != 204) {
        snprintf(why, sizeof why, "the question was answered with status %d; it is posted again", p->status);
        tell(p, why);
    }
    uv_timer_start(&p->look, on_again, APPROVE_AGAIN_MS, 0);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    approve *p = user;
    char text[256];
    (void)f, (void)net, (void)phase;
    p->f = NULL;
    snprintf(text, sizeof text, "the question could not be posted: %.160s; it is posted again", why);
    tell(p, text);
    uv_timer_start(&p->look, on_again, APPROVE_AGAIN_MS, 0);
}

static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

static void post(approve *p)
{
    static const daruma_header headers[] = {{LIT("content-type"), LIT("application/json")},
                                            {LIT("accept"), LIT("application/json")}};
    fetch_request q = {.to = &p->to,
                       .method = S("POST"),
                       .target = p->to.prefix.n ? p->to.prefix : S("/"),
                       .headers = headers,
                       .nheaders = COUNT(headers),
                       .body = {p->question},
                       .has_body = true,
                       .clocks = {RUN_CONNECT_MS, APPROVE_POST_MS, RUN_IDLE_MS, 0}};
    p->status = 0;
    p->answer = buf_in(&p->room);
    p->f = fetch_start(p->up, &q, &ops, p);
    if (!p->f)
        uv_timer_start(&p->look, on_again, APPROVE_AGAIN_MS, 0);
}

/* ---- asking ---- */

static void on_expiry(uv_timer_t *t)
{
    approve *p = t->data;
    answered(p, p->reply, p->reply == AGENT_ALLOWED ? S(APPROVE_YES) : (daruma_str){0});
}

static void write_json(approve *p, const agent_act *x)
{
    daruma_buf b = buf_in(&p->room);
    p->name = STR_SAY(&p->room, p->s.run, "/", x->call);
    BUF_OBJECT(&b, "question", p->name, "run", p->s.run, "text", x->text, "tool", buf_any(x->tool), "arguments",
               BUF_IF(x->tool.n, buf_raw(json_valid(x->args) ? x->args : S("{}"))), "within_s",
               BUF_IF(p->s.within > 0, p->s.within / 1000), "answers", buf_raw(S("[\"allow\",\"deny\"]")));
    p->question = buf_str(&b);
}

void approve_ask(approve *p, const agent_act *x, approve_done done, void *user)
{
    p->done = done;
    p->user = user;
    p->asking = true;
    p->told = false;
    p->reply = AGENT_EXPIRED;
    bool nobody = !p->s.way && (!isatty(0) || !isatty(2) || !p->can_read);
    if (!sys_arena_init(&p->room, 16 << 10, APPROVE_MEMORY_BYTES))
        nobody = true;
    else
        write_json(p, x);
    if (p->s.yes || nobody || p->room.full) {
        p->reply = p->s.yes ? AGENT_ALLOWED : AGENT_EXPIRED;
        uv_timer_start(&p->expiry, on_expiry, 0, 0);
        return;
    }
    if (p->s.within > 0)
        uv_timer_start(&p->expiry, on_expiry, (uint64_t)p->s.within, 0);
    if (p->is_url) {
        post(p);
    } else if (p->s.way) {
        ask_file(p);
    } else {
        if (tcgetpgrp(0) == getpgrp()) /* else that would stop us, as a job in the background */
            tcflush(0, TCIFLUSH);      /* what was typed before answers no question that nobody had seen */
        p->s.show(x->text, p->s.user);
        uv_poll_start(&p->in, UV_READABLE, on_line);
    }
}

approve *approve_new(uv_loop_t *loop, upstream *up, const approve_settings *s, char why[256])
{
    const char *wrong = NULL;
    daruma_str way = s->way ? str_of(s->way) : (daruma_str){0};
    approve *p = calloc(1, sizeof *p);
    if (!p || !sys_arena_init(&p->memory, 1024, APPROVE_ANSWER_BYTES)) {
        free(p);
        return NULL;
    }
    p->s = *s;
    p->up = up;
    p->held = -1;
    p->is_url = str_istarts(way, S("http://")) || str_istarts(way, S("https://"));
    if (p->is_url && !url_parse(way, &p->memory, &p->to, &wrong)) {
        snprintf(why, 256, "--approve %.100s is no address: %.100s", s->way, wrong);
        sys_arena_done(&p->memory);
        free(p);
        return NULL;
    }
    if (s->way && !p->is_url) {
        snprintf(p->answer_path, sizeof p->answer_path, "%s", s->way);
        snprintf(p->question_path, sizeof p->question_path, "%s.question", s->way);
    }
    uv_timer_init(loop, &p->look);
    uv_timer_init(loop, &p->expiry);
    p->can_read = !s->way && !s->yes && isatty(0) && uv_poll_init(loop, &p->in, 0) == 0;
    p->look.data = p->expiry.data = p->in.data = p;
    p->handles = p->can_read ? 3 : 2;
    return p;
}

void approve_drop(approve *p)
{
    stop(p);
    sys_arena_done(&p->room);
}

static void on_closed(uv_handle_t *h)
{
    approve *p = h->data;
    if (--p->handles > 0)
        return;
    sys_arena_done(&p->room);
    sys_arena_done(&p->memory);
    free(p);
}

void approve_close(approve *p)
{
    if (!p)
        return;
    stop(p);
    uv_close((uv_handle_t *)&p->look, on_closed);
    uv_close((uv_handle_t *)&p->expiry, on_closed);
    if (p->can_read)
        uv_close((uv_handle_t *)&p->in, on_closed);
}
