#include "cli/progress.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_USUAL = 80, LINE_BYTES = 200 };

progress progress_new(void)
{
    return (progress){.on = isatty(STDERR_FILENO) == 1};
}

void progress_clear(progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static size_t width(void)
{
    struct winsize w = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : WIDTH_USUAL;
}

/* At most one line, or the terminal would not take it away as one. */
static void show(progress *p)
{
    char line[LINE_BYTES];
    size_t most = width() - 1;
    int n = snprintf(line, sizeof line, "step %lld%s%s, %lld tokens, %lld recovered", (long long)p->step,
                     p->tool[0] ? ", " : "", p->tool, (long long)p->tokens, (long long)p->recovered);
    size_t shown = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    fprintf(stderr, "\r\033[K%.*s", (int)(shown < most ? shown : most), line);
    fflush(stderr);
    p->shown = true;
}

void progress_event(progress *p, daruma_str json)
{
    static char room[8 << 10];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    daruma_str name = json_text(json_get(json, S("event")), &a), step = json_get(json, S("step"));
    if (!p->on)
        return;
    if (json_is_number(step))
        p->step = json_int(step, p->step);
    if (str_eq(name, S("model_asked")))
        p->tokens = json_int(json_get(json, S("tokens")), p->tokens);
    p->recovered += str_eq(name, S("error_recovery_success"));
    if (str_eq(name, S("tool_called"))) {
        char plain[PROGRESS_TOOL_BYTES];
        daruma_str tool = str_sub(json_text(json_get(json, S("tool")), &a), 0, PROGRESS_TOOL_BYTES - 1);
        tool = cli_plain(tool, plain, sizeof plain);
        snprintf(p->tool, sizeof p->tool, STR_FMT, STR_ARG(tool));
    }
    if (!p->held)
        show(p);
}
