/* media.c - images, sound and documents of one dialect as another takes them. */
#include "dialect/convert/convert.h"
#include "base/base64.h"

static bool is_image(const convo_part *p)
{
    return str_istarts(p->media_type, S("image/")) || (!p->media_type.n && p->media_url);
}

/* A type for media that came without: by the first bytes, or by the end of the URL. */
static daruma_str guess_type(const convo_part *p)
{
    static const struct {
        daruma_str base64, end, type;
    } kinds[] = {
        {LIT("iVBORw0KGgo"), LIT(".png"), LIT("image/png")},
        {LIT("/9j/"), LIT(".jpg"), LIT("image/jpeg")},
        {LIT("/9j/"), LIT(".jpeg"), LIT("image/jpeg")},
        {LIT("R0lGOD"), LIT(".gif"), LIT("image/gif")},
        {LIT("UklGR"), LIT(".webp"), LIT("image/webp")},
        {LIT("JVBERi"), LIT(".pdf"), LIT("application/pdf")},
        {LIT(""), LIT(".txt"), LIT("text/plain")},
        {LIT(""), LIT(".md"), LIT("text/markdown")},
        {LIT(""), LIT(".csv"), LIT("text/csv")},
        {LIT(""), LIT(".html"), LIT("text/html")},
        {LIT(""), LIT(".json"), LIT("application/json")},
        {LIT(""), LIT(".xml"), LIT("application/xml")},
    };
    daruma_str rest = p->media, path = p->media_url ? str_cut(&rest, '?') : p->media;
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (p->media_url        ? str_ends(path, kinds[i].end)
            : kinds[i].base64.n ? str_starts(path, kinds[i].base64)
                                : str_ends(p->about, kinds[i].end))
            return kinds[i].type;
    return p->media_url ? S("image/jpeg") : S("image/png");
}

bool convert_media_fits(const dialect *to, const convo_part *p)
{
    static const daruma_str images[] = {LIT("image/png"), LIT("image/jpeg"), LIT("image/gif"), LIT("image/webp")};
    bool pdf = str_ieq(p->media_type, S("application/pdf"));
    if (to == &dialect_gemini)
        return true;
    if (is_image(p)) {
        bool known = p->media_url || str_ieq(p->media_type, S("image/*"));
        for (size_t i = 0; i < COUNT(images); i++)
            known |= str_ieq(p->media_type, images[i]);
        return known;
    }
    if (to == &dialect_openai)
        return !p->media_url && (pdf || str_ieq(p->media_type, S("audio/wav")) ||
                                 str_ieq(p->media_type, S("audio/mpeg")) || str_ieq(p->media_type, S("audio/mp3")));
    return pdf;
}

convo_part convert_media_typed(const convo_part *media)
{
    convo_part p = *media;
    if (!p.media_type.n || str_ieq(p.media_type, S("image/*")) || str_ieq(p.media_type, S("application/octet-stream")))
        p.media_type = guess_type(&p);
    return p;
}

static bool is_text(daruma_str type)
{
    static const daruma_str more[] = {LIT("application/json"), LIT("application/xml"), LIT("application/yaml"),
                                      LIT("application/x-yaml"), LIT("application/javascript")};
    for (size_t i = 0; i < COUNT(more); i++)
        if (str_ieq(type, more[i]))
            return true;
    return str_istarts(type, S("text/"));
}

static bool is_utf8(daruma_str s)
{
    for (size_t n; s.n; s = str_from(s, n))
        if (!(n = str_utf8(s)))
            return false;
    return true;
}

bool convert_media_text(const convo_part *p, daruma_arena *a, daruma_str *ret)
{
    daruma_buf b = buf_in(a);
    if (p->media_url || !is_text(p->media_type))
        return false;
    BUF_LIT(&b, "[Document");
    if (p->about.n) {
        BUF_SAY(&b, " ", p->about);
    }
    BUF_LIT(&b, "]\n");
    if (!base64_put(&b, p->media) || b.full || !is_utf8(buf_str(&b)))
        return false;
    *ret = buf_str(&b);
    return true;
}

daruma_str convert_media_about(const dialect *to, const convo_part *p, const char **lost)
{
    bool image = is_image(p), openai = to == &dialect_openai || to == &dialect_openai_responses;
    bool keeps = image ? openai : to != &dialect_gemini;
    if (!keeps && p->about.n)
        *lost = image ? "image_detail" : "file_name";
    return keeps ? p->about : (daruma_str){0};
}

daruma_str convert_media_words(const convo_part *p, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "[",
            is_image(p)                               ? S("image")
            : str_istarts(p->media_type, S("audio/")) ? S("audio")
                                                      : S("document"),
            " that cannot be passed on");
    if (p->media_url) {
        BUF_SAY(&b, ": ", p->media);
    }
    BUF_LIT(&b, "]");
    return b.full ? S("[media]") : buf_str(&b);
}

const char *convert_media_name(const convo_part *p)
{
    return is_image(p) ? "image" : str_istarts(p->media_type, S("audio/")) ? "audio" : "document";
}
