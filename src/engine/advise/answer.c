#include "engine/advise/answer.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

daruma_str answer_object(daruma_str answer, daruma_str member)
{
    daruma_str rest = answer, value;
    for (int tries = 0; tries < ANSWER_STARTS_MAX; tries++) {
        size_t at = str_findch(rest, '{');
        if (at == STR_NONE)
            break;
        size_t end = json_skip(rest, at, &value);
        if (end != STR_NONE && json_get(value, member).n)
            return value;
        rest = str_from(rest, end != STR_NONE ? end : at + 1);
    }
    return (daruma_str){0};
}

daruma_str answer_greedy(daruma_str answer)
{
    size_t from = str_findch(answer, '{'), end = answer.n;
    daruma_str value = {0};
    if (from == STR_NONE)
        return value;
    while (end > from && answer.p[end - 1] != '}')
        end--;
    return json_whole(str_sub(answer, from, end - from), &value) ? value : (daruma_str){0};
}

/* "-12.5e3" as mantissa and power of ten. */
static bool decimal(daruma_str s, int64_t *mantissa, int *exp)
{
    enum { DIGITS_MAX = 15, EXP_MAX = 40 };
    bool minus = s.n && s.p[0] == '-', point = false;
    size_t i = s.n && (minus || s.p[0] == '+'), digits = 0;
    int kept = 0;
    int64_t e = 0;
    *mantissa = 0;
    *exp = 0;
    for (; i < s.n && (ch_digit(s.p[i]) || (s.p[i] == '.' && !point)); i++) {
        if (s.p[i] == '.') {
            point = true;
            continue;
        }
        digits++;
        if (kept < DIGITS_MAX) {
            *mantissa = *mantissa * 10 + (s.p[i] - '0');
            kept += *mantissa != 0;
            *exp -= point;
        } else {
            *exp += !point;
        }
    }
    if (digits && i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        bool down = ++i < s.n && s.p[i] == '-';
        i += i < s.n && (s.p[i] == '-' || s.p[i] == '+');
        if (!str_int(str_from(s, i), &e))
            return false;
        e = e < EXP_MAX ? e : EXP_MAX;
        *exp = *exp > -EXP_MAX ? *exp : -EXP_MAX;
        *exp = *exp < EXP_MAX ? *exp : EXP_MAX;
        *exp += (int)(down ? -e : e);
        i = s.n;
    }
    *mantissa = minus ? -*mantissa : *mantissa;
    return digits && i == s.n;
}

bool answer_milli(daruma_str value, int64_t *ret)
{
    int64_t m;
    int exp;
    daruma_str number = json_is_string(value) ? str_trim(str_sub(value, 1, value.n - 2)) : value;
    if (!decimal(number, &m, &exp))
        return false;
    for (exp += 3; exp > 0 && m; exp--)
        m = mul_sat(m, 10);
    for (; exp < 0 && m; exp++)
        m /= 10;
    *ret = m;
    return true;
}

daruma_str answer_text(daruma_str object, daruma_str member, daruma_str otherwise, daruma_arena *a)
{
    daruma_str value = json_get(object, member), text = value;
    if (json_is_string(value))
        text = json_text(value, a);
    return text.n && !json_is_null(value) ? text : otherwise;
}
