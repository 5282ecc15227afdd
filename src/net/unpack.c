#define ZLIB_CONST /* else zlib takes no input that it may not change */
#include "net/unpack.h"
#include "base/buf.h"
#include "base/str.h"
#include <limits.h>
#include <zlib.h>

/* `bits`: of zlib's, which say what stands around it. */
static bool inflated(int bits, daruma_str in, daruma_buf *out, size_t max)
{
    z_stream z = {.next_in = (const Bytef *)in.p, .avail_in = (uInt)in.n};
    size_t was = out->n;
    if (inflateInit2(&z, bits) != Z_OK)
        return false;
    int status = Z_OK;
    while (status == Z_OK && out->n - was <= max) {
        enum { PIECE_BYTES = 4096 };
        char *room = buf_room(out, PIECE_BYTES);
        if (!room)
            break;
        z.next_out = (Bytef *)room;
        z.avail_out = PIECE_BYTES;
        status = inflate(&z, Z_NO_FLUSH);
        out->n += PIECE_BYTES - z.avail_out;
    }
    inflateEnd(&z);
    bool whole = status == Z_STREAM_END && !z.avail_in && out->n - was <= max; /* no second member follows */
    out->n = whole ? out->n : was;
    return whole;
}

bool unpack(daruma_str coding, daruma_str in, daruma_buf *out, size_t max)
{
    enum { BARE = -MAX_WBITS, GZIP = 16 + MAX_WBITS };
    if (in.n > UINT_MAX)
        return false;
    if (str_ieq(coding, S("gzip")) || str_ieq(coding, S("x-gzip")))
        return inflated(GZIP, in, out, max);
    return str_ieq(coding, S("deflate")) && (inflated(MAX_WBITS, in, out, max) || inflated(BARE, in, out, max));
}
