/* config_prices.c - `prices`: what a million tokens of a model cost. The unit is the file's own: dollars, euros,
 * points. */
#include "gateway/config/config_inside.h"
#include "base/buf.h"
#include "base/str.h"

enum { MICRO = 1000000, PLACES = 6, PRICE_MAX = 1000000 };

/* Reads a decimal number as millionths: "2.5", "0.0375". */
static bool price_micro(daruma_str s, int64_t *ret)
{
    int64_t v = 0;
    size_t digits = 0, behind = 0;
    bool point = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && !point && digits) {
            point = true;
            continue;
        }
        if (!ch_digit(s.p[i]) || behind == PLACES || v > (int64_t)PRICE_MAX * MICRO)
            return false;
        v = v * 10 + (s.p[i] - '0');
        digits++;
        behind += point;
    }
    if (!digits || (point && !behind))
        return false;
    for (; behind < PLACES; behind++)
        v = mul_sat(v, 10);
    *ret = v;
    return v <= (int64_t)PRICE_MAX * MICRO;
}

static bool read_price(conf *r, const conf_option *o, daruma_str s, void *at)
{
    int64_t v;
    if (!price_micro(s, &v))
        return conf_expected(r, o,
                             "of a million tokens, at most six digits behind the point and a million in front of it");
    *(int64_t *)at = v;
    return true;
}

static void show_price(const void *root, const void *at, daruma_buf *out)
{
    int64_t v = *(const int64_t *)at, rest = v % MICRO;
    int places = PLACES;
    (void)root;
    buf_int(out, v / MICRO);
    for (; rest && rest % 10 == 0; rest /= 10)
        places--;
    if (rest)
        buf_printf(out, ".%0*lld", places, (long long)rest);
}

static void price_fits(conf *r, void *base, void *item, size_t index)
{
    const config *c = base;
    const config_price *p = item;
    for (size_t i = 0; i < index; i++)
        if (str_glob(c->prices[i].model, p->model)) {
            conf_wrong(r,
                       "this row never counts: row %zu (" STR_FMT
                       ") stands before it and is about the same\nput the narrower "
                       "name first, or remove one",
                       i + 1, STR_ARG(conf_word(r, c->prices[i].model)));
            return;
        }
}

// clang-format off
static const conf_option prices_rows[] = {
    {"model", CONF_TEXT, .flags = CONF_REQUIRED, CONF_AT(config_price, model), .min = 1, .max = 300,
     .help = "The model as its provider calls it, or `provider/model`; `*` stands for anything: `gpt-5*`, `main/*`."},
    {"input", CONF_VALUE, .value = read_price, .show = show_price, .expects = "a number like 2.5", .flags = CONF_REQUIRED, CONF_AT(config_price, input),
     .help = "What a million tokens of requests cost, in the unit that you count in."},
    {"output", CONF_VALUE, .value = read_price, .show = show_price, .expects = "a number like 10", .flags = CONF_REQUIRED, CONF_AT(config_price, output),
     .help = "What a million tokens of answers cost."},
};
const conf_shape config_prices_shape = {.of = CONF_ROWS(prices_rows), .like = "{ model: \"gpt-5*\", input: 1.25, output: 10 }",
    .size = sizeof(config_price), .max = CONFIG_NAMES_MAX, .fits = price_fits};
// clang-format on

static const config_price *price_of(const config *c, daruma_str provider, daruma_str model)
{
    char name[400];
    daruma_buf both = buf_over(name, sizeof name);
    for (size_t i = 0; i < c->nprices; i++) {
        if (str_glob(c->prices[i].model, model))
            return &c->prices[i];
        if (!both.n)
            BUF_SAY(&both, provider, "/", str_sub(model, 0, 300));
        if (str_glob(c->prices[i].model, buf_str(&both)))
            return &c->prices[i];
    }
    return NULL;
}

int64_t config_cost(const config *c, const daruma_target *t, int64_t input_tokens, int64_t output_tokens)
{
    bool counted = input_tokens >= 0 || output_tokens >= 0;
    const config_price *p = counted && c->nprices && t ? price_of(c, t->provider, t->model) : NULL;
    if (!p)
        return -1;
    int64_t in = input_tokens > 0 ? input_tokens : 0, out = output_tokens > 0 ? output_tokens : 0;
    int64_t pico = add_sat(mul_sat(in, p->input), mul_sat(out, p->output)); /* millionths of a millionth */
    return pico / 1000;
}

void config_prices_warnings(const config *c, daruma_buf *out)
{
    for (size_t i = 0; i < c->nprices; i++)
        if (c->prices[i].output < c->prices[i].input)
            BUF_SAY(out, "prices: ", c->prices[i].model,
                    ": tokens of answers are cheaper than those of requests; are the two swapped?\n");
    for (size_t m = 0; m < c->nmodels && c->nprices; m++)
        for (size_t i = 0; i < c->models[m].ntargets; i++) {
            const config_target *t = &c->models[m].targets[i];
            daruma_str provider = c->providers[t->provider].name;
            if (!price_of(c, provider, t->model))
                BUF_SAY(out, "prices: no row is about ", provider, "/", t->model, ": what it costs counts nowhere\n");
        }
}
