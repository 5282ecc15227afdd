#include "cli/spoken.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "sys/arena.h"
#include <unistd.h>

bool spoken_begin(spoken *s, bool json)
{
    s->json = json;
    s->terminal = !json && isatty(STDOUT_FILENO) == 1;
    s->on = (s->on || s->terminal) && sys_arena_init(&s->room, 4096, RUN_ANSWER_BYTES_MAX);
    s->said = buf_in(&s->room);
    return s->on;
}

void spoken_done(spoken *s)
{
    if (s->on)
        sys_arena_done(&s->room);
    s->on = false;
}

static void end_line(spoken *s)
{
    if (s->on_line)
        putchar('\n');
    s->on_line = false;
    fflush(stdout);
}

/* Prints a piece; `anew`: of another answer than the one before it. */
static void print(spoken *s, daruma_str piece, bool anew)
{
    if (s->json) {
        daruma_arena room;
        if (!sys_arena_init(&room, 4096, RUN_ANSWER_BYTES_MAX))
            return;
        daruma_buf b = buf_in(&room);
        buf_printf(&b, "{\"event\":\"answer_text\",\"begins\":%s,\"text\":", anew ? "true" : "false");
        BUF_SAY(&b, buf_quoted(piece), "}");
        printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
        sys_arena_done(&room);
    } else {
        if (anew)
            end_line(s);
        cli_put_page(stdout, piece);
        s->on_line = piece.n && piece.p[piece.n - 1] != '\n';
    }
    fflush(stdout);
}

/* Takes off a piece of an answer that is given again what was printed before. `*ret_anew`: it is another answer, and
 * the piece is all of it so far. */
static daruma_str without_same(spoken *s, daruma_str piece, bool *ret_anew)
{
    daruma_str before = str_from(buf_str(&s->said), s->same);
    size_t n = 0;
    while (n < piece.n && n < before.n && piece.p[n] == before.p[n])
        n++;
    s->same += n;
    if (n == piece.n)
        return (daruma_str){0};
    s->compares = false;
    *ret_anew = n < before.n;
    return str_from(piece, n);
}

void spoken_add(spoken *s, daruma_str piece, run_text follows)
{
    bool anew = follows == RUN_TEXT_NEW;
    if (follows == RUN_TEXT_AGAIN)
        s->same = 0;
    if (anew)
        s->said.n = 0;
    s->compares = follows == RUN_TEXT_AGAIN || (s->compares && !anew);
    if (s->compares && !(piece = without_same(s, piece, &anew)).n)
        return;
    if (follows != RUN_TEXT_NEW && anew) { /* what it has in common with the one before is printed, too */
        s->said.n = s->same;
        buf_put(&s->said, piece);
        piece = buf_str(&s->said);
        print(s, piece, true);
        return;
    }
    print(s, piece, anew);
    buf_put(&s->said, piece);
}

bool spoken_on_line(const spoken *s)
{
    return s->terminal && s->on_line;
}

void spoken_break(spoken *s)
{
    if (s->terminal)
        end_line(s);
}

bool spoken_end(spoken *s, daruma_str text)
{
    bool same = s->on && s->said.n && !s->said.full && str_eq(buf_str(&s->said), text);
    end_line(s);
    return same;
}
