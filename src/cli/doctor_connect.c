/* doctor_connect.c - what `daruma doctor` finds out by asking: commands that print keys, and providers. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/doctor.h"
#include "sys/process.h"
#include "sys/sys.h"

enum { CONNECT_MS = 10000, CLOCK_WARNING_S = 30, CLOCK_WRONG_S = 300 };

/* ---- keys ---------------------------------------------------------------------------- */

typedef struct printed {
    findings *f;
    daruma_str about;
    daruma_str *ret;
} printed;

static void ran(int exit_code, daruma_str out, const char *why, void *user)
{
    printed *p = user;
    if (exit_code != 0 || why || !out.n) {
        finding_put(p->f, FINDING_WRONG, p->about,
                    "run the command by hand, as the user that daruma runs as, and see what it says",
                    "its command gave no key: %s", why ? why : "it failed");
        return;
    }
    *p->ret = arena_copy(p->f->a, out);
    finding_put(p->f, FINDING_OK, p->about, "", "its command printed a key of %zu characters", out.n);
}

static void look_at_value(findings *f, daruma_str about, daruma_str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~') {
            finding_put(f, FINDING_WRONG, about, "copy it again: a key has printable characters alone",
                        "it holds a space or a character that no header takes");
            return;
        }
    if (key.n < 8)
        finding_put(f, FINDING_WARNING, about, "look whether it is whole", "it is there, and has %zu characters only",
                    key.n);
    else
        finding_put(f, FINDING_OK, about, "", "it is there: %zu characters", key.n);
}

size_t doctor_nkeys(const config *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nproviders; i++)
        n += c->providers[i].nkeys;
    return n;
}

static daruma_str key_about(findings *f, const config_provider *p, const config_key *k)
{
    daruma_buf b = buf_in(f->a);
    BUF_SAY(&b, "key ", k->name, " of ", p->name);
    return buf_str(&b);
}

void doctor_keys(findings *f, const config *c, daruma_str *secrets)
{
    size_t at = 0;
    uv_loop_t *loop = uv_default_loop();
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        if (!p->nkeys)
            finding_put(f, FINDING_OK, p->name, "", "%s",
                        config_has_key(p) ? "its key is one of its `headers`" : "no keys: clients show their own");
        for (size_t k = 0; k < p->nkeys; k++, at++) {
            const config_key *key = &p->keys[k];
            printed to = {f, key_about(f, p, key), &secrets[at]};
            secrets[at] = key->value;
            if (key->value.n) {
                look_at_value(f, to.about, key->value);
                continue;
            }
            daruma_buf command = buf_in(f->a);
            buf_put(&command, key->command);
            buf_putc(&command, 0);
            if (command.full)
                return;
            process_run(loop, command.p, KEY_COMMAND_MS_MAX, ran, &to);
            uv_run(loop, UV_RUN_DEFAULT);
        }
    }
}

/* ---- providers ------------------------------------------------------------------------ */

typedef struct asked {
    findings *f;
    daruma_str about, provider;
    bool keyed; /* with a key of the configuration's */
    bool over;
    daruma_ms began;
    int status;
    int64_t date; /* of the answer, ms since 1970; -1 it has none */
    daruma_ms took;
} asked;

static void on_head(fetch *f, const http_head *h, void *user)
{
    asked *a = user;
    (void)f;
    a->status = h->status;
    a->date = date_http(http_header(h, S("date")));
    a->took = sys_moment().now - a->began;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    (void)f, (void)bytes, (void)user;
}

static void on_end(fetch *f, void *user)
{
    (void)f;
    ((asked *)user)->over = true;
}

/* What to do about trouble on the wire. */
static const char *net_step(daruma_net net)
{
    static const char *const steps[DARUMA_NETS] = {
        [DARUMA_NET_DNS] = "check how the host is spelt in `url`, and /etc/resolv.conf",
        [DARUMA_NET_REFUSED] = "check the port in `url`, and whether the server runs",
        [DARUMA_NET_UNREACHABLE] = "check the network and the firewall of this machine",
        [DARUMA_NET_TLS] = "check that the port speaks TLS; `http://` where it does not",
        [DARUMA_NET_CERTIFICATE] =
            "set `tls.ca_file` to the authority that signed it, and check the clock of this machine",
        [DARUMA_NET_PROXY] = "check `proxy` and the variables https_proxy, http_proxy and no_proxy",
        [DARUMA_NET_CONNECT_TIMEOUT] = "check the firewall, or whether a proxy is needed (`proxy`)",
    };
    return steps[net] ? steps[net] : "check its address, and whether it runs";
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    asked *a = user;
    (void)f, (void)phase, (void)why; /* which may carry a peer's bytes */
    a->over = true;
    if (!a->status)
        finding_put(a->f, FINDING_WRONG, a->provider, net_step(net), "%s", daruma_net_words(net));
}

static void judge_clock(findings *f, const asked *a)
{
    int64_t off = a->date < 0 ? 0 : sys_moment().wall - a->date / 1000, far = off < 0 ? -off : off;
    if (a->date < 0 || far < CLOCK_WARNING_S)
        return;
    finding_put(f, far < CLOCK_WRONG_S ? FINDING_WARNING : FINDING_WRONG, S("clock"),
                "set it, and let NTP keep it (timedatectl set-ntp true)", "it is %lld s %s that of " STR_FMT,
                (long long)far, off < 0 ? "behind" : "before", STR_ARG(a->about));
}

static void judge_answer(const asked *a)
{
    if (!a->status)
        return;
    if ((a->status == 401 || a->status == 403) && a->keyed)
        finding_put(a->f, FINDING_WRONG, a->about,
                    "check the key with the provider, and that it stands under the right one",
                    "it answers in %lld ms and refuses the key (HTTP %d)", (long long)a->took, a->status);
    else if (a->status >= 500)
        finding_put(a->f, FINDING_WARNING, a->about, "look at its status page", "it answers in %lld ms with HTTP %d",
                    (long long)a->took, a->status);
    else if (a->status == 429)
        finding_put(a->f, FINDING_WARNING, a->about, "look what its limits are",
                    "it answers in %lld ms: the key is limited (HTTP 429)", (long long)a->took);
    else if (a->keyed && a->status < 300)
        finding_put(a->f, FINDING_OK, a->about, "", "it answers in %lld ms and takes the key", (long long)a->took);
    else
        finding_put(a->f, FINDING_OK, a->about, "", "it can be reached: HTTP %d in %lld ms", a->status,
                    (long long)a->took);
}

/* False: it cannot be reached, with whatever key. */
static bool ask_once(findings *f, upstream *up, const config_provider *p, const config_key *k, daruma_str secret)
{
    daruma_buf provider_name = buf_in(f->a);
    BUF_SAY(&provider_name, "provider ", p->name);
    daruma_str provider = buf_str(&provider_name);
    static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
    asked a = {.f = f,
               .about = k ? key_about(f, p, k) : provider,
               .provider = provider,
               .keyed = secret.n > 0,
               .began = sys_moment().now,
               .date = -1};
    daruma_header *h = ARENA_NEW(f->a, daruma_header, p->nheaders + 3);
    size_t n = 0;
    if (!h)
        return false;
    h[n++] = (daruma_header){S("accept"), S("application/json")};
    if (p->dialect->version.name.n)
        h[n++] = p->dialect->version;
    if (secret.n)
        h[n++] = config_key_field(p, secret, f->a);
    for (size_t i = 0; i < p->nheaders; i++)
        h[n++] = p->headers[i];
    daruma_str path = p->dialect == &dialect_gemini ? S("/v1beta/models") : S("/v1/models");
    fetch_request q = {.to = &p->to,
                       .method = S("GET"),
                       .target = config_own_path(p, path, f->a),
                       .headers = h,
                       .nheaders = n,
                       .fresh = true,
                       .clocks = {.connect = CONNECT_MS, .first_byte = CONNECT_MS, .total = 2 * CONNECT_MS}};
    if (f->a->full || !fetch_start(up, &q, &ops, &a))
        return false;
    while (!a.over && uv_run(uv_default_loop(), UV_RUN_ONCE))
        ;
    judge_answer(&a);
    judge_clock(f, &a);
    return a.status != 0;
}

void doctor_connect(findings *f, const config *c, const daruma_str *secrets)
{
    char why[256];
    const upstream_settings s = {.https_proxy = c->https_proxy,
                                 .http_proxy = c->http_proxy,
                                 .no_proxy = c->no_proxy,
                                 .ca_file = c->ca_file.n ? c->ca_file.p : NULL};
    upstream *up = upstream_new(uv_default_loop(), &s, why);
    size_t at = 0;
    if (!up) {
        finding_put(f, FINDING_WRONG, S("TLS"), "install ca-certificates", "%s", why);
        return;
    }
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        bool reached =
            !p->cloud; /* a cloud has no list of models, and says nothing of the key without a call that costs */
        if (!p->nkeys || p->cloud)
            ask_once(f, up, p, NULL, (daruma_str){0});
        for (size_t k = 0; k < p->nkeys; k++, at++)
            if (secrets[at].n && reached)
                reached = ask_once(f, up, p, &p->keys[k], secrets[at]);
    }
    upstream_close(up);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
