/* reminder.c - what SwarmSDK tells the model about calls that it removed from the history, in its words (S-F13). */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/pairs/pairs_plan.h"
#include "base/utf8.h"

/* A string as Ruby shows it. */
static void put_inspected(daruma_buf *b, daruma_str s)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        const char *as = ch == '\n'     ? "\\n"
                         : ch == '\t'   ? "\\t"
                         : ch == '\r'   ? "\\r"
                         : ch == '\x1b' ? "\\e"
                         : ch == '\\'   ? "\\\\"
                         : ch == '"'    ? "\\\""
                                        : NULL;
        if (ch == '#' && i + 1 < s.n && (s.p[i + 1] == '{' || s.p[i + 1] == '$' || s.p[i + 1] == '@'))
            as = "\\#";
        if (as)
            buf_putz(b, as);
        else if ((unsigned char)ch < 0x20 || ch == 0x7f)
            buf_printf(b, "\\x%02X", (unsigned)(unsigned char)ch);
        else
            buf_putc(b, ch);
    }
    buf_putc(b, '"');
}

/* A JSON value as Ruby shows it; `depth` bounds what is looked into. */
static void put_ruby(daruma_buf *b, daruma_str v, int depth, daruma_arena *a)
{
    daruma_str key, inner;
    bool object = json_is_object(v), first = true;
    if (json_is_string(v)) {
        put_inspected(b, json_text(v, a));
        return;
    }
    if ((!object && !json_is_array(v)) || depth == 0) {
        buf_put(b, json_is_null(v) ? S("nil") : v);
        return;
    }
    buf_putc(b, object ? '{' : '[');
    for (json_iter it = json_open(v); json_next(&it, &key, &inner); first = false) {
        if (!first)
            BUF_LIT(b, ", ");
        if (object) {
            BUF_SAY(b, "\"", key, "\" => ");
        }
        put_ruby(b, inner, depth - 1, a);
    }
    buf_putc(b, object ? '}' : ']');
}

static void put_argument(daruma_buf *b, daruma_str key, daruma_str value, daruma_arena *a)
{
    daruma_str text = json_text(value, a);
    BUF_SAY(b, key, ": ");
    if (json_is_string(value) && utf8_bytes(text, REMINDER_CHARS_MAX) < text.n) {
        BUF_SAY(b, str_sub(text, 0, utf8_bytes(text, REMINDER_CHARS_MAX - 3)), "...");
    } else {
        put_ruby(b, value, REMINDER_DEPTH_MAX, a);
    }
}

static void reminder_put_call(daruma_buf *b, convo *c, convo_part *call)
{
    daruma_str key, value, args;
    bool first = true;
    BUF_SAY(b, "- ", call->name, "(");
    if (json_whole(convo_text(c, call), &args))
        for (json_iter it = json_open(args); json_is_object(args) && json_next(&it, &key, &value); first = false) {
            if (!first)
                BUF_LIT(b, ", ");
            put_argument(b, key, value, c->arena);
        }
    BUF_LIT(b, ")\n");
}

daruma_str mend_prune_reminder(convo *before)
{
    pairs_plan p;
    size_t told = 0;
    daruma_buf b = buf_in(before->arena);
    if (before->full || !pairs_plan_make(&p, before, MEND_PRUNE))
        return (daruma_str){0};
    *before->arena = p.room;
    BUF_LIT(&b, "<system-reminder>\nThe following tool calls were interrupted and removed from conversation "
                "history:\n\n");
    for (size_t i = 0; i < p.ncalls; i++)
        if (p.calls[i].fate == GOES && !p.calls[i].twin) {
            reminder_put_call(&b, before, plan_part(&p, &p.calls[i]));
            told++;
        }
    BUF_LIT(&b, "\nThese tools were never executed. If you still need their results, please run them again.\n"
                "</system-reminder>");
    before->full |= b.full;
    return told && !b.full ? buf_str(&b) : (daruma_str){0};
}
