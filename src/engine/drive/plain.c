#include "engine/drive/plain.h"
#include "base/str.h"

void plain_body_dropped(void *user)
{
    (void)user;
}

void plain_pause(void *handle)
{
    (void)handle;
}

void plain_limit(void *handle, daruma_ms total)
{
    (void)handle;
    (void)total;
}

bool plain_is_sent(void *handle)
{
    (void)handle;
    return true;
}

drive_key plain_key(void *user, const daruma_target *t, bool *ret_renewable)
{
    (void)user;
    (void)t;
    *ret_renewable = false;
    return DRIVE_KEY_READY;
}

void plain_key_fetch(void *user, const daruma_target *t, bool anew)
{
    (void)user;
    (void)t;
    (void)anew;
}

void plain_key_noted(void *user, const daruma_target *t)
{
    (void)user;
    (void)t;
}

daruma_str plain_key_trouble(void *user, const daruma_target *t, daruma_arena *a)
{
    (void)user;
    (void)t;
    (void)a;
    return S("{}");
}

daruma_str plain_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str text)
{
    (void)user;
    (void)t;
    (void)secret;
    return text;
}

void plain_holds(void *user, int64_t bytes)
{
    (void)user;
    (void)bytes;
}

bool plain_work(void *user, size_t bytes, const drive_work *kind, void *data)
{
    (void)user;
    (void)bytes;
    kind->work(data);
    return true;
}
