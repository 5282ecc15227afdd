/* mend.c - a request that the provider refused, mended with daruma_parts.h alone: a tool call lost its result, and then
 * the history is too long for the model. */
#include <daruma_parts.h>
#include <stdio.h>
#include <string.h>

static char room[1 << 20], text[1 << 16], old_output[9000];

static void show(const char *what, const daruma_buf *b)
{
    printf("%s (%zu bytes): %.*s%s\n", what, b->n, (int)(b->n < 300 ? b->n : 300), b->p, b->n < 300 ? "" : "...");
}

/* What the provider answers becomes a failure, the failure a remedy of the policy, the remedy a mended request. */
static bool mend(daruma_convo *c, daruma_remedy_kind r, const char *refusal, daruma_arena *a)
{
    char said[256];
    daruma_buf what = {.p = said, .cap = sizeof said};
    daruma_evidence ev = {
        .phase = DARUMA_AT_ANSWER, .status = 400, .provider = DARUMA_STR("openai"), .body = {refusal, strlen(refusal)}};
    daruma_failure f = daruma_classify(&ev, (daruma_moment){0}, a);
    bool fits = daruma_convo_mend(c, r, &f, daruma_policy_find(DARUMA_STR("default")), -1, &what);
    printf("%s, so %s: %.*s\n", daruma_kind_name(f.kind), daruma_remedy_name(r), (int)what.n, what.p);
    return fits;
}

int main(void)
{
    static char body[1 << 14];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    daruma_buf out = {.p = text, .cap = sizeof text};
    daruma_convo *c;
    memset(old_output, 'x', sizeof old_output - 1);
    int n = snprintf(body, sizeof body,
                     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"look\"},"
                     "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":"
                     "{\"name\":\"ls\",\"arguments\":\"{}\"}}]},"
                     "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"%s\"},"
                     "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c2\",\"type\":\"function\",\"function\":"
                     "{\"name\":\"ls\",\"arguments\":\"{}\"}}]},"
                     "{\"role\":\"user\",\"content\":\"still there?\"}]}",
                     old_output);
    if (daruma_convo_read(DARUMA_STR("openai"), (daruma_str){body, (size_t)n}, &a, &c) != DARUMA_OK)
        return 1;
    bool paired =
        mend(c, DARUMA_REMEDY_REPAIR_HISTORY,
             "{\"error\":{\"message\":\"An assistant message with 'tool_calls' must be followed by tool messages "
             "responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: c2\"}}",
             &a);
    bool fits =
        mend(c, DARUMA_REMEDY_MASK_TOOL_OUTPUT,
             "{\"error\":{\"message\":\"This model's maximum context length is 1500 tokens. However, your messages "
             "resulted in 2400 tokens.\",\"code\":\"context_length_exceeded\"}}",
             &a);
    daruma_convo_write(c, &out);
    show("sent again", &out);
    return paired && fits && !out.full ? 0 : 1;
}
