/* fuzz_door - the two checks at the door, beside plain ones: a path that is let in names nothing outside its base URL,
 * however often escapes are undone, and a name that is let in is one of this machine's. An input that begins with 'h'
 * is a name behind it, every other one a path. */
#include "../src/gateway/door/guard.c"
#include "../src/gateway/door/paths.c"
#include "exact.h"
#include <arpa/inet.h>
#include <stdlib.h>

enum { INPUT_BYTES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The one that they would call; nothing here does. */
bool call_refuse(gateway *g, call *c, refusal why, int status, daruma_kind kind, daruma_ms wait, daruma_str message)
{
    (void)g, (void)c, (void)why, (void)status, (void)kind, (void)wait, (void)message;
    abort();
}

/* Asked by what is not called here. */
bool admin_answers(daruma_str path)
{
    (void)path;
    abort();
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* One escape, the first one, is undone; false: there is none. */
static bool undo_one(char *p, size_t *n)
{
    for (size_t i = 0; i + 2 < *n; i++)
        if (p[i] == '%' && ch_hex(p[i + 1]) >= 0 && ch_hex(p[i + 2]) >= 0) {
            p[i] = (char)(ch_hex(p[i + 1]) * 16 + ch_hex(p[i + 2]));
            memmove(p + i + 1, p + i + 3, *n - i - 3);
            *n -= 2;
            return true;
        }
    return false;
}

static void path_stays(daruma_str path)
{
    char p[INPUT_BYTES_MAX];
    size_t n = path.n;
    memcpy(p, path.p, n);
    do {
        daruma_str rest = {p + 1, n - 1};
        must(!memchr(p, ';', n) && !memchr(p, '\\', n) && !memchr(p, 0, n));
        while (rest.n) {
            size_t slash = str_findch(rest, '/');
            daruma_str one = str_cut(&rest, '/');
            must(!str_eq(one, S(".")) && !str_eq(one, S("..")) && (one.n || slash == STR_NONE));
        }
    } while (undo_one(p, &n));
}

/* As a resolver has it: IPv6 by inet_pton(), names by their last label (RFC 6761). */
static bool is_this_machine(daruma_str name)
{
    char z[INPUT_BYTES_MAX + 1];
    unsigned char at[16];
    static const unsigned char six[16] = {[15] = 1}, mapped[13] = {[10] = 0xff, 0xff, 127};
    if (name.n && name.p[0] == '[')
        name = str_sub(name, 1, str_findch(name, ']') - 1);
    else
        name = str_sub(name, 0, str_findch(name, ':'));
    if (name.n && name.p[name.n - 1] == '.')
        name.n--;
    for (size_t i = 0; i < name.n; i++)
        z[i] = ch_lower(name.p[i]);
    z[name.n] = 0;
    daruma_str low = {z, name.n}; /* a NUL does not end it */
    bool number = name.n > 0;     /* "127.1" is an address to some, and a name to nobody */
    for (size_t i = 0; i < name.n; i++)
        number &= ch_digit(z[i]) || z[i] == '.';
    if (number)
        return str_starts(low, S("127."));
    if (!memchr(z, 0, name.n) && inet_pton(AF_INET6, z, at) == 1)
        return !memcmp(at, six, 16) || !memcmp(at, mapped, 13);
    return str_eq(low, S("localhost")) || str_ends(low, S(".localhost"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[16384];
    static const config none;
    daruma_arena a = arena_over(mem, sizeof mem);
    exact_pieces x = {0};
    daruma_str in = exact(&x, (daruma_str){(const char *)data, size});
    if (in.n > INPUT_BYTES_MAX)
        in.n = 0;
    if (in.n && in.p[0] == 'h')
        must(!is_ours(&none, str_from(in, 1)) || is_this_machine(str_from(in, 1)));
    else if (in.n && in.p[0] == '/' && !leaves_prefix(in, &a))
        path_stays(in);
    if (in.n && in.p[0] == '/')
        is_known(in);
    exact_end(&x);
    return 0;
}
