/* whole.h - a law of repairs: each string, number and literal of what goes out stood whole in what came in. It shares
 * nothing with the repair, and so it looks at less: of a string at letters that no escape is written with. */
#ifndef FUZZ_WHOLE_H
#define FUZZ_WHOLE_H
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"

static inline bool whole_tells(char c)
{
    return c && strchr("ghijklmopqsvwyzGHIJKLMOPQSVWYZ", c) != NULL;
}

/* Do the letters of `said` stand in `in` one behind the other, with a quote before and behind them? `bare`: a name
 * needs none, but something has to stand behind it. */
static inline bool whole_string(daruma_str in, daruma_str said, bool bare)
{
    static const char quotes[] = "\"'`\xe2";
    for (size_t from = 0; from <= in.n; from++) {
        size_t at = from, k = 0;
        for (;; k++, at++) {
            while (k < said.n && !whole_tells(said.p[k]))
                k++;
            if (k == said.n)
                break;
            while (at < in.n && !whole_tells(in.p[at]))
                at++;
            if (at == in.n || in.p[at] != said.p[k])
                break;
        }
        if (k < said.n)
            continue;
        bool before = bare, behind = bare && at < in.n;
        for (size_t i = 0; i <= from && i < in.n && !before; i++)
            before = strchr(quotes, in.p[i]) && in.p[i];
        for (size_t i = at; i < in.n && !behind; i++)
            behind = strchr(quotes, in.p[i]) && in.p[i];
        if (before && behind)
            return true;
    }
    return false;
}

/* Does `word` stand in `in`, and not as a part of a longer word or number? Case is ignored of small letters. `last`:
 * also at its end. */
static inline bool whole_word(daruma_str in, daruma_str word, bool last)
{
    bool small = str_ifind(word, word) != STR_NONE;
    for (size_t at = 0, n; (n = (small ? str_ifind : str_find)(str_from(in, at), word)) != STR_NONE; at++) {
        at += n;
        size_t end = at + word.n;
        bool begins = at == 0 || !ch_word(in.p[at - 1]) || (at > 1 && in.p[at - 2] == '\\'),
             ends = end < in.n && !ch_word(in.p[end]);
        if (begins && (ends || (last && end == in.n)))
            return true;
    }
    return false;
}

/* Numbers that JSON writes otherwise: 0x1F, +1, .5, 2. */
static inline bool whole_respelled(daruma_str in)
{
    if (str_ifind(in, S("0x")) != STR_NONE || str_findch(in, '+') != STR_NONE)
        return true;
    for (size_t i = 0; i < in.n; i++)
        if (in.p[i] == '.' && (i == 0 || i + 1 == in.n || !ch_digit(in.p[i - 1]) || !ch_digit(in.p[i + 1])))
            return true;
    return false;
}

static inline void whole_check(daruma_str in, daruma_str out, daruma_arena *a)
{
    daruma_str key, v;
    bool object = json_is_object(out);
    if (a->full)
        return;
    if (object || json_is_array(out)) {
        for (json_iter it = json_open(out); json_next(&it, &key, &v);) {
            if (object)
                check(whole_string(in, key, true));
            whole_check(in, v, a);
        }
    } else if (json_is_string(out)) {
        check(a->full || whole_string(in, str_sub(out, 1, out.n - 2), false) ||
              json_is_number(str_sub(out, 1, out.n - 2)) || whole_word(in, str_sub(out, 1, out.n - 2), true));
    } else if (json_is_null(out)) {
        check(whole_word(in, S("null"), true) || whole_word(in, S("none"), true) ||
              whole_word(in, S("undefined"), true));
    } else if (json_is_number(out)) {
        check(whole_word(in, out, false) || whole_respelled(in));
    } else {
        check(whole_word(in, out, true));
    }
}

/* Of a text without entities, whose letters are not those of what it says. */
static inline void whole_in(daruma_str in, daruma_str out, daruma_arena *a)
{
    daruma_str value = {0};
    if (in.n <= 4096 && str_findch(in, '&') == STR_NONE && !json_valid(in) && json_whole(out, &value))
        whole_check(in, value, a);
}
#endif
