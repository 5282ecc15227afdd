/* public.c - requests for programs that have daruma_parts.h alone. */
#include "dialect/dialect.h"
#include "base/arena.h"

daruma_status daruma_convo_read(daruma_str name, daruma_str body, daruma_arena *a, daruma_convo **ret)
{
    const dialect *d = dialect_find(name);
    daruma_convo *c = ARENA_NEW(a, daruma_convo, 1);
    convo *read = ARENA_NEW(a, convo, 1);
    *ret = NULL;
    if (!d)
        return DARUMA_EINPUT;
    if (!c || !read)
        return DARUMA_EFULL;
    daruma_status status = d->read(body, a, read);
    if (status != DARUMA_OK)
        return status;
    *c = (daruma_convo){.convo = read, .write = d->write};
    *ret = c;
    return DARUMA_OK;
}

void daruma_convo_write(const daruma_convo *c, daruma_buf *out)
{
    c->write(c->convo, out);
}
