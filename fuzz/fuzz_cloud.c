/* A request that is written for a cloud: whatever the client sent, what goes out is JSON where it was, has no member
 * that the path says, and all the others as they were. */
#include "gateway/inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_left_out(config_cloud cloud, daruma_str key)
{
    return json_raw_eq(key, S("model")) || (cloud == CONFIG_BEDROCK && json_raw_eq(key, S("stream")));
}

/* Members of an object that stay; `ret_out` of them do not. */
static size_t members(config_cloud cloud, daruma_str object, daruma_str *list, size_t max, size_t *ret_out)
{
    daruma_str key, value;
    json_iter it = json_open(object);
    size_t n = 0;
    *ret_out = 0;
    while (n < max && json_next(&it, &key, &value)) {
        *ret_out += is_left_out(cloud, key);
        if (!is_left_out(cloud, key))
            list[n++] = value;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MEMBERS = 200 };
    static char memory[1 << 20];
    static daruma_str before[MEMBERS], after[MEMBERS];
    if (size < 2 || size > 4096)
        return 0;
    daruma_arena a = arena_over(memory, sizeof memory);
    exact_pieces room = {0};
    config_provider p = {.cloud = data[0] % 2 ? CONFIG_BEDROCK : CONFIG_VERTEX};
    daruma_str body = exact(&room, (daruma_str){(const char *)data + 1, size - 1}), pieces[4] = {body}, whole;
    daruma_buf out = buf_in(&a);
    cloud_body(&p, S("a, b"), pieces, &a);
    for (size_t i = 0; i < 4; i++)
        buf_put(&out, pieces[i]);
    check(!a.full);
    if (json_whole(body, &whole) && json_is_object(whole)) {
        size_t left_out, still, n = members((config_cloud)p.cloud, whole, before, MEMBERS, &left_out);
        size_t more = p.cloud == CONFIG_BEDROCK ? 2 : 1; /* anthropic_version, anthropic_beta */
        check(json_valid(buf_str(&out)));
        size_t now = members((config_cloud)p.cloud, buf_str(&out), after, MEMBERS, &still);
        check(left_out > 2 || !still);
        check(n == MEMBERS || now == MEMBERS || now == n + more);
        for (size_t i = 0; i < n && i + more < now; i++)
            check(str_eq(before[i], after[i + more]));
    }
    exact_end(&room);
    return 0;
}
