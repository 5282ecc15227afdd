/* fuzz_classify - any bytes are judged: a status, a provider and a body out of the input. What is told of it is one
 * line of JSON, one readable line, and a sentence. */
#include "daruma_parts.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "exact.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void told(const daruma_failure *f, const daruma_evidence *ev, daruma_arena *a)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_request_failed";
    e.failure = f;
    e.reason = ev->body;
    e.tool = ev->provider;
    daruma_buf json = buf_in(a), line = buf_in(a), words = buf_in(a);
    daruma_event_write(&e, &json);
    daruma_event_say(&e, &line);
    daruma_explain(f, NULL, &words);
    if (json.full || line.full || words.full)
        return;
    must(json_valid(buf_str(&json)) && str_findch(buf_str(&json), '\n') == json.n - 1);
    must(str_findch(buf_str(&line), '\n') == line.n - 1 && str_findch(buf_str(&line), 0x1b) == STR_NONE);
    must(words.n && words.p[words.n - 1] == '.');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[1u << 20];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str rest = {(const char *)data, size};
    daruma_evidence ev = {.status = size ? 200 + data[0] * 2 : 0};
    if (ev.status > 308 && ev.status < 400) /* no provider's: a letter stands for an answer that may be one */
        ev.status = 200;
    rest = str_from(rest, 1);
    exact_pieces x = {0};
    ev.provider = exact(&x, str_cut(&rest, '\n'));
    ev.body = rest;
    daruma_failure f = daruma_classify(&ev, (daruma_moment){.wall = 1767225600}, &a);
    if (f.kind >= DARUMA_KINDS || f.wait < -1 || f.message.n > size * 10 + 16)
        abort();
    told(&f, &ev, &a);
    if (!a.full && f.message.n) { /* what was cleaned holds nothing more to clean */
        daruma_str again = daruma_redact(f.message, &a);
        if (!a.full && !str_eq(again, f.message))
            abort();
    }
    exact_end(&x);
    return 0;
}
