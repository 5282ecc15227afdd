#include "base/date.h"
#include "base/str.h"

/* Days since 1970-01-01 of a civil date (H. Hinnant's algorithm); year 0..9999. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool digits(daruma_str s, size_t at, size_t n, int64_t *ret)
{
    return at + n <= s.n && str_int(str_sub(s, at, n), ret);
}

static int month_of(daruma_str name)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int m = 0; m < 12; m++)
        if (str_ieq(name, (daruma_str){months + m * 3, 3}))
            return m + 1;
    return 0;
}

static int64_t stamp(int64_t y, int64_t mo, int64_t d, int64_t h, int64_t mi, int64_t s)
{
    if (mo < 1 || mo > 12 || d < 1 || d > 31 || h > 23 || mi > 59 || s > 60)
        return -1;
    int64_t at = ((days_of(y, mo, d) * 24 + h) * 60 + mi) * 60 + s;
    return at < 0 ? -1 : at * 1000;
}

static bool clock_of(daruma_str s, int64_t *h, int64_t *m, int64_t *sec)
{
    return s.n >= 8 && s.p[2] == ':' && s.p[5] == ':' && digits(s, 0, 2, h) && digits(s, 3, 2, m) &&
           digits(s, 6, 2, sec);
}

int64_t date_http(daruma_str s)
{
    int64_t y, d, h, m, sec;
    int month;
    s = str_trim(s);
    size_t comma = str_findch(s, ',');
    if (comma == STR_NONE) { /* Sun Nov  6 08:49:37 1994 */
        if (s.n != 24 || !(month = month_of(str_sub(s, 4, 3))) || !clock_of(str_from(s, 11), &h, &m, &sec) ||
            !digits(s, 20, 4, &y) || !str_int(str_trim(str_sub(s, 8, 2)), &d))
            return -1;
        return stamp(y, month, d, h, m, sec);
    }
    daruma_str r = str_trim(str_from(s, comma + 1));
    if (r.n >= 20 && r.p[2] == ' ') { /* 06 Nov 1994 08:49:37 GMT */
        if (!digits(r, 0, 2, &d) || !(month = month_of(str_sub(r, 3, 3))) || !digits(r, 7, 4, &y) ||
            !clock_of(str_from(r, 12), &h, &m, &sec))
            return -1;
        return stamp(y, month, d, h, m, sec);
    }
    if (r.n >= 18 && r.p[2] == '-') { /* 06-Nov-94 08:49:37 GMT */
        if (!digits(r, 0, 2, &d) || !(month = month_of(str_sub(r, 3, 3))) || !digits(r, 7, 2, &y) ||
            !clock_of(str_from(r, 10), &h, &m, &sec))
            return -1;
        return stamp(y + (y < 70 ? 2000 : 1900), month, d, h, m, sec);
    }
    return -1;
}

int64_t date_rfc3339(daruma_str s)
{
    int64_t y, mo, d, h, mi, sec, oh, om, ms = 0;
    s = str_trim(s);
    if (s.n < 19 || s.p[4] != '-' || s.p[7] != '-' || (s.p[10] != 'T' && s.p[10] != 't' && s.p[10] != ' ') ||
        !digits(s, 0, 4, &y) || !digits(s, 5, 2, &mo) || !digits(s, 8, 2, &d) ||
        !clock_of(str_from(s, 11), &h, &mi, &sec))
        return -1;
    int64_t at = stamp(y, mo, d, h, mi, sec);
    size_t i = 19;
    if (i < s.n && s.p[i] == '.') {
        int64_t unit = 100;
        for (i++; i < s.n && ch_digit(s.p[i]); i++, unit /= 10)
            ms += (s.p[i] - '0') * unit;
    }
    if (at < 0)
        return -1;
    daruma_str zone = str_from(s, i);
    if (zone.n == 0 || str_ieq(zone, S("z")))
        return at + ms;
    if (zone.n != 6 || (zone.p[0] != '+' && zone.p[0] != '-') || zone.p[3] != ':' || !digits(zone, 1, 2, &oh) ||
        !digits(zone, 4, 2, &om))
        return -1;
    int64_t shift = (oh * 60 + om) * 60000;
    return at + ms + (zone.p[0] == '+' ? -shift : shift);
}

bool date_milli(daruma_str s, int64_t *ret)
{
    int64_t whole = 0, milli = 0, unit = 100;
    size_t i = 0;
    for (; i < s.n && ch_digit(s.p[i]); i++)
        whole = add_sat(mul_sat(whole, 10), s.p[i] - '0');
    if (i == 0)
        return false;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && ch_digit(s.p[i]); i++, unit /= 10)
            milli += (s.p[i] - '0') * unit;
    *ret = add_sat(mul_sat(whole, 1000), milli);
    return i == s.n;
}

int64_t date_duration(daruma_str s, size_t *used)
{
    static const struct {
        daruma_str name;
        int64_t ms;
    } units[] = {
        {LIT("milliseconds"), 1}, {LIT("millisecond"), 1},   {LIT("ms"), 1},           {LIT("seconds"), 1000},
        {LIT("second"), 1000},    {LIT("secs"), 1000},       {LIT("sec"), 1000},       {LIT("s"), 1000},
        {LIT("minutes"), 60000},  {LIT("minute"), 60000},    {LIT("mins"), 60000},     {LIT("min"), 60000},
        {LIT("m"), 60000},        {LIT("hours"), 3600000},   {LIT("hour"), 3600000},   {LIT("hrs"), 3600000},
        {LIT("hr"), 3600000},     {LIT("h"), 3600000},       {LIT("days"), 86400000},  {LIT("day"), 86400000},
        {LIT("d"), 86400000},     {LIT("weeks"), 604800000}, {LIT("week"), 604800000},
    };
    int64_t total = 0;
    size_t at = 0, done = 0;
    while (at < s.n) {
        size_t n = 0;
        while (at + n < s.n &&
               (ch_digit(s.p[at + n]) || (s.p[at + n] == '.' && n && at + n + 1 < s.n && ch_digit(s.p[at + n + 1]))))
            n++;
        int64_t milli;
        if (!date_milli(str_sub(s, at, n), &milli))
            break;
        size_t u = at + n;
        while (u < s.n && s.p[u] == ' ')
            u++;
        size_t row = 0;
        for (; row < COUNT(units); row++) {
            daruma_str name = units[row].name;
            if (str_istarts(str_from(s, u), name) && (u + name.n == s.n || !ch_alpha(s.p[u + name.n])))
                break;
        }
        if (row == COUNT(units))
            break;
        total = add_sat(total, mul_sat(milli, units[row].ms) / 1000);
        done = at = u + units[row].name.n;
        while (at < s.n && s.p[at] == ' ')
            at++;
    }
    if (used)
        *used = done;
    return done == 0 || (!used && done != s.n) ? -1 : total;
}

/* The last two digits of `v`. */
static void put_two(char *to, unsigned v)
{
    to[0] = (char)('0' + v / 10 % 10);
    to[1] = (char)('0' + v % 10);
}

void date_write(int64_t wall, char out[21])
{
    int64_t days = wall / 86400, rest = wall % 86400;
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, d = doy - (153 * mp + 2) / 5 + 1, m = mp + (mp < 10 ? 3 : -9);
    int64_t y = yoe + era * 400 + (m <= 2);
    memcpy(out, "0000-00-00T00:00:00Z", 21);
    put_two(out, (unsigned)y / 100);
    put_two(out + 2, (unsigned)y);
    put_two(out + 5, (unsigned)m);
    put_two(out + 8, (unsigned)d);
    put_two(out + 11, (unsigned)(rest / 3600));
    put_two(out + 14, (unsigned)(rest % 3600 / 60));
    put_two(out + 17, (unsigned)(rest % 60));
}

void date_say(int64_t wall, char out[20])
{
    char ts[21];
    date_write(wall, ts);
    ts[10] = ' ';
    ts[19] = 0;
    memcpy(out, ts, 20);
}
