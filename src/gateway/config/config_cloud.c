/* config_cloud.c - clouds that host Anthropic's models: which one a provider is at, and whether the rest of its entry
 * fits that. */
#include "base/str.h"
#include "gateway/config/config_inside.h"

#define VERTEX_END "/publishers/anthropic"

static const struct {
    const char *name; /* as in `cloud` */
    const char *keys; /* an example of its keys */
} clouds[] = {
    [CONFIG_VERTEX] = {"vertex", "[{ command: \"gcloud auth print-access-token\" }]"},
};

const char *config_cloud_name(const config_provider *p)
{
    return clouds[p->cloud].name;
}

/* Its URL says it where the file does not. */
static uint32_t found(const config_provider *p)
{
    return str_ends(p->to.prefix, S(VERTEX_END)) ? CONFIG_VERTEX : CONFIG_NO_CLOUD;
}

void config_cloud_fits(conf *r, void *base, void *item, size_t index)
{
    config_provider *p = item;
    bool anthropic = p->dialect == &dialect_anthropic;
    (void)base, (void)index;
    if (anthropic && !p->cloud)
        p->cloud = found(p);
    if (!p->cloud)
        return;
    if (!anthropic) {
        conf_step(r, "cloud");
        conf_wrong(r, "`cloud` is for Anthropic's own dialect\nwrite `dialect: anthropic`, or remove `cloud`");
    } else if (p->cloud == CONFIG_VERTEX && !str_ends(p->to.prefix, S(VERTEX_END))) {
        conf_step(r, "url");
        conf_wrong(r, "the address of Anthropic's models on Vertex AI ends with " VERTEX_END
                      "\nwrite https://aiplatform.googleapis.com/v1/projects/PROJECT/locations/global" VERTEX_END);
    } else if (!config_has_key(p)) {
        conf_wrong(r,
                   "this provider is at a cloud (%s), which takes no client's key for Anthropic\nadd its own, e.g. "
                   "keys: %s",
                   clouds[p->cloud].name, clouds[p->cloud].keys);
    }
}
