/* spoken.h - the answer of `daruma run` as its model says it, on standard output. */
#ifndef CLI_SPOKEN_H
#define CLI_SPOKEN_H
#include "run/host.h"

/* All zero: nothing is printed before it is whole. */
typedef struct spoken {
    bool on;       /* pieces are printed ... */
    bool json;     /* ... as events, a line each */
    bool terminal; /* standard output is one: it shares its lines with what happens */
    bool on_line;  /* the last line that was printed is not ended */
    bool compares; /* an answer that broke off is given again: what is the same is not printed twice */
    size_t same;   /* ... so many bytes are */
    daruma_arena room;
    daruma_buf said; /* of the newest answer, as it was printed */
} spoken;

/* Decides whether pieces are printed: when `on` says so, and for people on a terminal. Returns whether they are. */
bool spoken_begin(spoken *s, bool json);
void spoken_done(spoken *s);
void spoken_add(spoken *s, daruma_str piece, run_text follows);
/* True if a terminal's last line is one of the answer, and not ended. */
bool spoken_on_line(const spoken *s);
/* Ends that line, so that something else can be printed. */
void spoken_break(spoken *s);
/* The run is over. True if `text` is what was printed last: it need not be printed again. */
bool spoken_end(spoken *s, daruma_str text);
#endif
