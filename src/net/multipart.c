/* multipart.c - see multipart.h. Strict: what servers read in different ways is no form to us. */
#include "net/multipart.h"
#include "base/str.h"

/* Takes a parameter off *rest: `; name=value` or `; name="value"` (RFC 9110, 5.6.6). A backslash in a quoted value is
 * read in different ways, and makes it false; so does anything else that is no parameter. */
static bool take_parameter(daruma_str *rest, daruma_str *name, daruma_str *value)
{
    daruma_str s = str_trim(*rest);
    if (!s.n || s.p[0] != ';')
        return false;
    s = str_trim(str_from(s, 1));
    size_t equals = str_findch(s, '=');
    if (equals == STR_NONE || equals == 0)
        return false;
    *name = str_sub(s, 0, equals);
    s = str_from(s, equals + 1);
    bool quoted = s.n && s.p[0] == '"';
    s = str_from(s, quoted);
    size_t end = str_findch(s, quoted ? '"' : ';');
    if (end == STR_NONE && quoted)
        return false;
    *value = str_sub(s, 0, end == STR_NONE ? s.n : end);
    *rest = end == STR_NONE ? (daruma_str){0} : str_from(s, end + quoted);
    if (!quoted)
        *value = str_trim(*value);
    return str_findch(*value, '\\') == STR_NONE && (quoted || str_findch(*value, '"') == STR_NONE);
}

static bool is_boundary(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_alpha(s.p[i]) && !ch_digit(s.p[i]) && !memchr("'()+_,-./:=?", s.p[i], 12))
            return false;
    return s.n > 0 && s.n <= MULTIPART_BOUNDARY_MAX;
}

void multipart_open(multipart *m, daruma_str content_type, daruma_str body)
{
    size_t semicolon = str_findch(content_type, ';');
    daruma_str type = str_trim(str_sub(content_type, 0, semicolon)), rest = str_from(content_type, semicolon);
    daruma_str name, value, boundary = {0};
    *m = (multipart){.bad = true};
    while (str_trim(rest).n) {
        if (!take_parameter(&rest, &name, &value))
            return;
        if (str_ieq(name, S("boundary"))) {
            if (boundary.n)
                return;
            boundary = value;
        }
    }
    if (!str_ieq(type, S("multipart/form-data")) || !is_boundary(boundary))
        return;
    memcpy(m->room, "\r\n--", 4);
    memcpy(m->room + 4, boundary.p, boundary.n);
    m->delimiter = (daruma_str){m->room, boundary.n + 4};
    if (!str_starts(body, str_from(m->delimiter, 2)))
        return;
    m->rest = str_from(body, m->delimiter.n - 2);
    m->bad = false;
}

/* The name in the head of a part: one field says it, once. */
static bool read_name(daruma_str head, daruma_str *ret)
{
    bool found = false;
    *ret = (daruma_str){0};
    while (head.n) {
        size_t end = str_find(head, S("\r\n"));
        daruma_str line = str_sub(head, 0, end == STR_NONE ? head.n : end), name, value;
        head = end == STR_NONE ? (daruma_str){0} : str_from(head, end + 2);
        if (str_findch(line, '\n') != STR_NONE || str_findch(line, '\r') != STR_NONE || (line.n && ch_space(line.p[0])))
            return false; /* a bare line end, a folded line */
        daruma_str rest = line, field = str_cut(&rest, ':');
        if (!str_ieq(str_trim(field), S("content-disposition")))
            continue;
        size_t type = str_findch(rest, ';');
        if (found || type == STR_NONE || !str_ieq(str_trim(str_sub(rest, 0, type)), S("form-data")))
            return false;
        found = true;
        rest = str_from(rest, type);
        while (str_trim(rest).n) {
            if (!take_parameter(&rest, &name, &value))
                return false;
            if (str_istarts(name, S("name")) && (ret->n || !str_ieq(name, S("name"))))
                return false; /* twice, or "name*" */
            if (str_ieq(name, S("name")))
                *ret = value;
        }
    }
    return found;
}

bool multipart_next(multipart *m, daruma_str *name, daruma_str *value)
{
    daruma_str rest = m->rest, line_end = str_from(m->delimiter, 1);
    if (m->bad || str_starts(rest, S("--")))
        return false;
    line_end.p = m->room + 1;
    size_t begin = str_starts(rest, S("\r\n")) ? str_find(rest, S("\r\n\r\n")) : STR_NONE;
    m->bad = true;
    if (begin == STR_NONE)
        return false;
    daruma_str head = begin ? str_sub(rest, 2, begin - 2) : (daruma_str){0};
    rest = str_from(rest, begin + 4);
    size_t end = str_find(rest, line_end);
    bool exact = end != STR_NONE && end > 0 && rest.p[end - 1] == '\r'; /* behind a bare LF some see a delimiter, too */
    if (!exact || str_starts(rest, str_from(m->delimiter, 2)) || !read_name(head, name))
        return false;
    *value = str_sub(rest, 0, end - 1);
    m->rest = str_from(rest, end + line_end.n);
    m->bad = false;
    return true;
}
