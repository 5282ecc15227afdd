/* fields.c - the header fields of answers. */
#include "base/str.h"
#include "engine/drive/drive.h"

daruma_str drive_field(const drive_head *h, daruma_str name)
{
    for (size_t i = 0; i < h->nheaders; i++)
        if (str_ieq(h->headers[i].name, name))
            return h->headers[i].value;
    return (daruma_str){0};
}

/* By length: most names need no comparison. */
static bool is_always_hop_by_hop(daruma_str name)
{
    switch (name.n) {
    case 2:
        return str_ieq(name, S("te"));
    case 6:
        return str_ieq(name, S("expect"));
    case 7:
        return str_ieq(name, S("trailer")) || str_ieq(name, S("upgrade"));
    case 10:
        return str_ieq(name, S("connection")) || str_ieq(name, S("keep-alive"));
    case 14:
        return str_ieq(name, S("http2-settings"));
    case 16:
        return str_ieq(name, S("proxy-connection"));
    case 17:
        return str_ieq(name, S("transfer-encoding"));
    case 18:
        return str_ieq(name, S("proxy-authenticate"));
    case 19:
        return str_ieq(name, S("proxy-authorization"));
    default:
        return false;
    }
}

bool drive_field_is_hop(daruma_str name, daruma_str connection)
{
    return is_always_hop_by_hop(name) || (connection.n && str_lists(connection, name));
}
