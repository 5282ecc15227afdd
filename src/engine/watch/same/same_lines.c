/* same_lines.c - a result without what is around it: what a shell writes above what the program wrote, and what a
 * harness writes below the answer. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/read/chars.h"
#include "engine/watch/same/same_lines.h"
#include "engine/watch/told.h"
#include <xxhash.h>

/* "[call 3 of read_file, 57 calls left]": what a harness counts, on a line of its own. */
static bool is_count(daruma_str line)
{
    enum { LONGEST = 200 };
    static const daruma_str words[] = {LIT(" call"), LIT("calls "), LIT("token"), LIT("budget"), LIT("context")};
    if (line.n < 4 || line.n > LONGEST || (line.p[0] != '[' && line.p[0] != '(' && line.p[0] != '<'))
        return false;
    return chars_digit(line) && STR_ANY(str_ihas, line, words);
}

/* What is left above what the harness wrote below the answer: a reminder, or how often it was asked. */
static daruma_str without_footer(daruma_str text)
{
    static const daruma_str opens[] = {LIT("<system-reminder>"), LIT("<system_reminder>"), LIT("<system_warning>")},
                            closes[] = {LIT("</system-reminder>"), LIT("</system_reminder>"), LIT("</system_warning>")};
    char last = text.n ? text.p[text.n - 1] : 0;
    if (last != ']' && last != ')' && last != '>')
        return text;
    for (size_t i = 0; last == '>' && i < 3; i++) {
        size_t at = str_ends(text, closes[i]) ? str_find(text, opens[i]) : STR_NONE;
        if (at != STR_NONE && at > 0)
            return str_trim(str_sub(text, 0, at));
    }
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '\n')
        from--;
    return from > 0 && is_count(str_from(text, from)) ? str_trim(str_sub(text, 0, from)) : text;
}

/* Lines that each name something, and how it ended is one of them, down to "Output:". */
static daruma_str without_header(daruma_str text)
{
    enum { LONGEST = 240 };
    if (!text.n || (text.p[0] != 'C' && text.p[0] != 'W' && text.p[0] != 'E')) /* Chunk, Wall, Exit */
        return text;
    daruma_str head = str_sub(text, 0, LONGEST);
    size_t at = str_find(head, S("\nOutput:\n"));
    if (at == STR_NONE && str_ends(head, S("\nOutput:"))) /* and nothing below it */
        at = head.n - 8;
    if (at == STR_NONE || str_find(head, S("Wall time: ")) > at ||
        str_ifind(str_sub(head, 0, at), S("exit")) == STR_NONE)
        return text;
    return str_trim(str_from(text, at + 8));
}

/* "<returncode>0</returncode><output>...</output>": what stands in the last element, where the ones before it tell
 * how a command ended and no more. */
static daruma_str without_elements(daruma_str text)
{
    enum { LONGEST = 80 };
    char open[LONGEST];
    daruma_buf b = buf_over(open, sizeof open);
    size_t close = text.n;
    if (!text.n || text.p[0] != '<' || text.p[text.n - 1] != '>')
        return text;
    while (close > 0 && text.p[close - 1] != '/')
        close--;
    daruma_str head = str_sub(text, 0, LONGEST);
    BUF_LIT(&b, "<");
    buf_put(&b, str_from(text, close));
    size_t at = close > 1 && !b.full ? str_find(head, buf_str(&b)) : STR_NONE;
    head = str_sub(head, 0, at);
    if (at == STR_NONE || at + b.n > close - 2 || !(str_ihas(head, S("exit")) || str_ihas(head, S("returncode"))))
        return text;
    return str_trim(str_sub(text, at + b.n, close - 2 - at - b.n));
}

daruma_str without_envelope(daruma_str text)
{
    return without_footer(without_header(without_elements(text)));
}

static uint64_t turned(uint64_t h, unsigned bits)
{
    return h << bits | h >> (64 - bits);
}

bool lines_told(daruma_str text, told_pairs *told)
{
    enum { TELLS = 8, ROW = 8, KEPT = 512 }; /* bytes of a line that tells something; lines side by side; rows */
    uint64_t fresh[KEPT], last[ROW] = {0}, row = 0;
    uint32_t lines = 0, news = 0;
    if (text.n > SAME_LINES_BYTES_MAX)
        return false;
    while (text.n) {
        daruma_str line = str_trim(str_cut(&text, '\n'));
        if (line.n < TELLS)
            continue;
        uint64_t hash = XXH3_64bits(line.p, line.n);
        row = turned(row, 1) ^ turned(last[lines % ROW], ROW) ^ hash;
        last[lines % ROW] = hash;
        if (++lines < ROW || told_has(told, end(row)))
            continue;
        if (news < KEPT)
            fresh[news] = end(row);
        news++;
    }
    for (uint32_t i = 0; i < news && i < KEPT; i++)
        told_put(told, fresh[i]);
    return lines >= ROW && !news;
}
