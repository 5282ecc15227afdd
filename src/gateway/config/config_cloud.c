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
    [CONFIG_BEDROCK] = {"bedrock", "[\"${AWS_BEARER_TOKEN_BEDROCK}\"]"},
};

const char *config_cloud_name(const config_provider *p)
{
    return clouds[p->cloud].name;
}

/* True for the hosts of Bedrock's runtime, also those in a network of one's own. With a path they speak another API. */
static bool is_bedrock(const url *u)
{
    static const daruma_str label = LIT("bedrock-runtime");
    size_t at = str_find(u->host, label);
    char behind = at == STR_NONE || at + label.n == u->host.n ? 0 : u->host.p[at + label.n];
    bool begins = at == 0 || (at != STR_NONE && u->host.p[at - 1] == '.');
    return begins && (behind == '.' || behind == '-') && str_find(u->host, S(".amazonaws.com")) != STR_NONE &&
           !u->prefix.n;
}

/* Its URL says it where the file does not. */
static uint32_t found(const config_provider *p)
{
    if (str_ends(p->to.prefix, S(VERTEX_END)))
        return CONFIG_VERTEX;
    return is_bedrock(&p->to) ? CONFIG_BEDROCK : CONFIG_NO_CLOUD;
}

/* The id of an access key, which signs requests. It is no secret, what belongs to it is. */
static bool has_access_key(const config_provider *p)
{
    for (size_t i = 0; i < p->nkeys; i++)
        if (str_starts(p->keys[i].value, S("AKIA")) || str_starts(p->keys[i].value, S("ASIA")))
            return true;
    return false;
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
    } else if (p->cloud == CONFIG_BEDROCK && has_access_key(p)) {
        conf_step(r, "keys");
        conf_wrong(
            r, "an access key of AWS signs requests, and daruma signs none\nmake an API key of Bedrock, and give that");
    } else if (!config_has_key(p)) {
        conf_wrong(r,
                   "this provider is at a cloud (%s), which takes no client's key for Anthropic\nadd its own, e.g. "
                   "keys: %s",
                   clouds[p->cloud].name, clouds[p->cloud].keys);
    }
}
