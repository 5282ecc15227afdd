/* soak.c - many clients, many requests, a provider that misbehaves: is every one answered or told why, and does nothing
 * grow? Chat requests, streaming and not, of several sizes go through a gateway; each answer is read to its end and
 * judged by what a client would see:
 *
 *   answered   the whole text that the model was asked for, to the byte
 *   explained  a readable reason instead: an error with a message, an in-band error, or daruma's own message; what came
 *              of the text before it is its beginning
 *   wrong      anything else: another text, a cut answer, broken JSON, an empty one, silence, a broken connection
 *
 * The upstream says what it is asked to say ("say X", doc/chaos.md), so every text is known.
 *
 * Memory and descriptors of the watched process are sampled all along; what the upstream was asked comes from the
 * control address of `daruma chaos` ("calls" in its report). Exit code 0: all goals reached; 1: one was missed.
 */
#include "kit.h"
#include "proc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 4096
#define SETTLE_MS   2000                                  /* after the last answer, before the last sample */
#define NOTICE      "[daruma] The model could not answer" /* how daruma's own messages begin */
#define SHAPES      8                                     /* different requests: four sizes, streaming and not */
#define TEXT_BYTES  (64 << 10)                            /* of an answer, at most */
#define TURN_BYTES  1400                                  /* of a turn of the conversation, about */
#define PRINTED_MAX 5                                     /* wrong answers shown on stderr */

typedef enum { ANSWERED, EXPLAINED, WRONG } verdict;

typedef struct client {
    int fd;
    bool wants_out;
    size_t shape, sent; /* which request, and how much of it is out */
    int64_t begun;
    http_in in;
    char *body; /* malloc, grown */
    size_t body_n, room;
} client;

typedef struct moment {
    double seconds;
    proc_use use;
} moment;

static struct {
    long port, clients, requests, watch, timeout_ms, sample_ms, seed;
    const char *gateway, *control, *path, *model, *goal_calls, *goal_answered;
    char *request[SHAPES];
    size_t request_n[SHAPES];
    daruma_str asked[SHAPES]; /* the text that the answer has to be */
    int epoll;
    long begun, done, verdicts[3], recovered, broken, late, statuses[6];
    long other_text, broken_off; /* wrong: not the text that was asked for; explained: behind a part of it */
    long printed;
    uint64_t dice;
    times took;
    moment samples[SAMPLES_MAX];
    size_t nsamples;
    int64_t from;
} soak;

/* xorshift: the same run again for the same seed. */
static uint64_t roll(void)
{
    soak.dice ^= soak.dice << 13;
    soak.dice ^= soak.dice >> 7;
    soak.dice ^= soak.dice << 17;
    return soak.dice;
}

static void keep_body(void *ctx, const char *p, size_t n)
{
    client *c = ctx;
    if (c->body_n + n > c->room) {
        c->room = (c->body_n + n) * 2;
        c->body = realloc(c->body, c->room);
        if (!c->body)
            die("memory");
    }
    memcpy(c->body + c->body_n, p, n);
    c->body_n += n;
}

/* --- what a client would say to an answer --- */

static bool has_message(daruma_str error)
{
    return json_path(error, "error.message").n > 2; /* more than the quotes */
}

/* The text of the answer at hand, and memory to decode it. */
static char said_room[TEXT_BYTES], decoding[4 * TEXT_BYTES];

static void add_text(daruma_buf *said, daruma_str value)
{
    daruma_arena a = arena_over(decoding, sizeof decoding);
    buf_put(said, json_is_string(value) ? json_text(value, &a) : (daruma_str){0});
}

static bool starts(daruma_str text, daruma_str with)
{
    return with.n <= text.n && !memcmp(text.p, with.p, with.n);
}

/* `said` came, and `limit`: it says itself that the model stopped at its limit. `reason`: and then an explanation. */
static verdict judge_text(const client *c, const daruma_buf *said, bool limit, bool reason)
{
    daruma_str text = buf_str(said), want = soak.asked[c->shape];
    size_t notice = str_find(text, S(NOTICE));
    if (notice != STR_NONE) {
        reason = true;
        text = str_sub(text, 0, notice);
        while (text.n && text.p[text.n - 1] == '\n') /* stands between them */
            text.n--;
    }
    bool part = starts(want, text) && !said->full;
    soak.other_text += !part || (!reason && !limit && text.n && text.n < want.n);
    if (!part)
        return WRONG;
    if (reason || limit) {
        soak.broken_off += reason && text.n > 0;
        return EXPLAINED;
    }
    return text.n == want.n ? ANSWERED : WRONG;
}

static verdict judge_json(const client *c, daruma_str body)
{
    daruma_str whole;
    daruma_buf said = buf_over(said_room, sizeof said_room);
    if (!json_whole(body, &whole))
        return WRONG;
    if (has_message(whole))
        return EXPLAINED; /* an error under status 200, were it to get through, is still a reason */
    daruma_str finish = json_path(whole, "choices.0.finish_reason");
    add_text(&said, json_path(whole, "choices.0.message.content"));
    return json_is_string(finish) ? judge_text(c, &said, str_eq(finish, S("\"length\"")), false) : WRONG;
}

static verdict judge_stream(const client *c, daruma_str body)
{
    bool finish = false, done = false, reason = false, limit = false;
    daruma_buf said = buf_over(said_room, sizeof said_room);
    while (body.n) {
        daruma_str line = str_trim(str_cut(&body, '\n')), chunk;
        if (!str_starts(line, S("data:")))
            continue;
        line = str_trim(str_from(line, 5));
        if (str_eq(line, S("[DONE]"))) {
            done = true;
            continue;
        }
        if (done || !json_whole(line, &chunk))
            return WRONG;
        reason |= has_message(chunk);
        add_text(&said, json_path(chunk, "choices.0.delta.content"));
        daruma_str why = json_path(chunk, "choices.0.finish_reason");
        finish |= json_is_string(why);
        limit |= str_eq(why, S("\"length\""));
    }
    return reason || (finish && done) ? judge_text(c, &said, limit, reason) : WRONG;
}

static verdict judge(const client *c)
{
    char type[64] = "", outcome[32] = "";
    daruma_str body = {c->body, c->body_n}, whole;
    http_header(&c->in, "content-type", type, sizeof type);
    http_header(&c->in, "x-daruma-outcome", outcome, sizeof outcome);
    soak.recovered += !strcmp(outcome, "recovered");
    soak.statuses[c->in.status >= 100 && c->in.status < 600 ? c->in.status / 100 : 0]++;
    if (c->in.status != 200)
        return c->in.status >= 400 && json_whole(body, &whole) && has_message(whole) ? EXPLAINED : WRONG;
    bool stream = c->shape % 2;
    if (stream != !strncasecmp(type, "text/event-stream", 17))
        return WRONG;
    return stream ? judge_stream(c, body) : judge_json(c, body);
}

/* --- the loop --- */

static void leave(client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static void expect(client *c, bool out, int op)
{
    struct epoll_event e = {.events = EPOLLIN | (out ? (unsigned)EPOLLOUT : 0u), .data.ptr = c};
    if (epoll_ctl(soak.epoll, op, c->fd, &e))
        die("epoll_ctl");
    c->wants_out = out;
}

static void begin(client *c)
{
    if (soak.begun >= soak.requests) {
        leave(c);
        return;
    }
    soak.begun++;
    c->shape = roll() % SHAPES;
    c->sent = 0;
    c->body_n = 0;
    c->begun = clock_ns();
    http_begin(&c->in, true);
    if (c->fd >= 0) {
        expect(c, true, EPOLL_CTL_MOD);
        return;
    }
    c->fd = connect_loopback(soak.port);
    if (c->fd < 0)
        die("connect");
    expect(c, true, EPOLL_CTL_ADD);
}

static void show(const client *c, const char *what)
{
    if (soak.printed++ < PRINTED_MAX)
        fprintf(stderr, "soak: %s: shape %zu, status %d, %zu bytes: %.300s\n", what, c->shape, c->in.status, c->body_n,
                c->body_n ? c->body : "");
}

static void finish(client *c, verdict v, bool again_here)
{
    soak.verdicts[v]++;
    soak.done++;
    times_add(&soak.took, clock_ns() - c->begun);
    if (!again_here)
        leave(c);
    begin(c);
}

static void broke(client *c)
{
    soak.broken++;
    show(c, "the connection broke");
    finish(c, WRONG, false);
}

static void whole(client *c)
{
    char zero = 0;
    keep_body(c, &zero, 1);
    c->body_n--;
    verdict v = judge(c);
    if (v == WRONG)
        show(c, "a wrong answer");
    finish(c, v, !c->in.close);
}

static void write_on(client *c)
{
    size_t n = soak.request_n[c->shape];
    ssize_t put = send(c->fd, soak.request[c->shape] + c->sent, n - c->sent, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == ENOTCONN))
        return;
    if (put < 0) {
        broke(c);
        return;
    }
    c->sent += (size_t)put;
    if (c->sent == n)
        expect(c, false, EPOLL_CTL_MOD);
}

static void on_event(client *c, unsigned events)
{
    static char bytes[64 << 10];
    if (c->fd < 0)
        return;
    if ((events & EPOLLOUT) && c->wants_out) {
        write_on(c);
        return; /* an answer waiting meanwhile is told again */
    }
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == 0 && c->in.phase == HTTP_UNTIL_CLOSE) {
        c->in.phase = HTTP_DONE;
        c->in.close = true;
    } else if (n <= 0) {
        broke(c);
        return;
    } else if (http_feed(&c->in, bytes, (size_t)n, keep_body, c) < (size_t)n) {
        c->in.phase = HTTP_BROKEN; /* more came than one answer */
    }
    if (c->in.phase == HTTP_BROKEN)
        broke(c);
    else if (c->in.phase == HTTP_DONE)
        whole(c);
}

static void sample(void)
{
    if (!soak.watch)
        return;
    if (soak.nsamples == SAMPLES_MAX) { /* keep every second one */
        for (size_t i = 0; i < SAMPLES_MAX / 2; i++)
            soak.samples[i] = soak.samples[2 * i];
        soak.nsamples /= 2;
        soak.sample_ms *= 2;
    }
    soak.samples[soak.nsamples++] = (moment){(double)(clock_ns() - soak.from) / 1e9, proc_all(soak.watch)};
}

static void late_ones(client *clients)
{
    int64_t limit = clock_ns() - soak.timeout_ms * 1000000;
    for (long i = 0; i < soak.clients; i++)
        if (clients[i].fd >= 0 && clients[i].begun < limit) {
            soak.late++;
            show(&clients[i], "no answer in time");
            finish(&clients[i], WRONG, false);
        }
}

static void run(client *clients)
{
    struct epoll_event events[256];
    int64_t next = clock_ns();
    for (long i = 0; i < soak.clients; i++)
        begin(&clients[i]);
    while (soak.done < soak.requests) {
        int n = epoll_wait(soak.epoll, events, 256, 100);
        for (int i = 0; i < n; i++)
            on_event(events[i].data.ptr, events[i].events);
        if (clock_ns() < next)
            continue;
        next = clock_ns() + soak.sample_ms * 1000000;
        sample();
        late_ones(clients);
    }
}

/* --- what came of it --- */

/* The number at `path` of the JSON that a GET of `where` brings; -1 when there is none. */
static long long number_at(long port, const char *where, const char *path)
{
    static char body[1 << 20];
    char request[512];
    http_in in;
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n\r\n", where, port);
    if (n < 0 || (size_t)n >= sizeof request || !ask_once(port, request, (size_t)n, &in, body, sizeof body))
        return -1;
    return json_int(json_path(str_of(body), path), -1);
}

/* Calls the upstream counted so far; -1 when it cannot be asked. */
static long long calls(void)
{
    long port;
    const char *path;
    if (!soak.control || !url_read(soak.control, &port, &path))
        return -1;
    return number_at(port, *path && path[1] ? path : "/chaos/report", "calls");
}

/* Streams that were cut and got their rest, as the gateway counts them; none when it counts nothing of the kind. */
static long long rests(void)
{
    long long n = number_at(soak.port, "/daruma/status", "saved.interrupted");
    return n < 0 ? 0 : n;
}

/* --- what is asked --- */

/* Text that does not say the same twice: sentences of numbered things, with what has to be escaped and what has more
 * than one byte among them. As the inside of a JSON string. */
static void put_sentences(daruma_buf *b, size_t bytes)
{
    static const char *const words[] = {"fox",    "lamp",  "river",  "gear",  "letter",       "caf\xc3\xa9",
                                        "bridge", "moss",  "signal", "ochre", "\xe9\x9b\xaa", "tide",
                                        "kettle", "anvil", "fern",   "quartz"};
    static const char *const ends[] = {". ",     ", ", ";\\n", " - ", ". ", " (so it is). ", " \\\"and so on\\\" ",
                                       ".\\n\\n"};
    for (size_t from = b->n; b->n - from < bytes && !b->full;)
        buf_printf(b, "%s %u %s the %s%s", words[roll() % 16], (unsigned)(roll() % 9000 + 1000),
                   roll() % 2 ? "above" : "behind", words[roll() % 16], ends[roll() % 8]);
    BUF_LIT(b, "end");
}

/* A conversation of about `bytes`, its last turn asking for a text. Each size has one, as a stream and not. */
static void ask_for_text(size_t shape, size_t bytes)
{
    static char room[128 << 10];
    daruma_buf b = buf_over(room, sizeof room);
    size_t text = bytes / 2 < TURN_BYTES ? bytes / 2 : TURN_BYTES;
    buf_printf(&b, "{\"model\":\"%s\",\"stream\":%s,\"messages\":[", soak.model, shape % 2 ? "true" : "false");
    while (bytes > text + 200 && b.n < bytes - text - 200) {
        size_t left = bytes - text - 200 - b.n;
        BUF_LIT(&b, "{\"role\":\"user\",\"content\":\"");
        put_sentences(&b, left / 2 < TURN_BYTES ? left / 2 : TURN_BYTES);
        BUF_LIT(&b, "\"},{\"role\":\"assistant\",\"content\":\"");
        put_sentences(&b, left / 2 < TURN_BYTES ? left / 2 : TURN_BYTES);
        BUF_LIT(&b, "\"},");
    }
    BUF_LIT(&b, "{\"role\":\"user\",\"content\":");
    size_t from = b.n;
    BUF_LIT(&b, "\"say ");
    put_sentences(&b, text);
    BUF_LIT(&b, "\"");
    daruma_arena a = arena_over(decoding, sizeof decoding);
    daruma_str said = str_from(json_text(str_from(buf_str(&b), from), &a), strlen("say "));
    char *copy = malloc(said.n + 1), *whole = malloc(b.n + 1024);
    BUF_LIT(&b, "}]}");
    if (b.full || a.full || !copy || !whole)
        die("memory");
    memcpy(copy, said.p, said.n);
    soak.asked[shape] = (daruma_str){copy, said.n};
    int head = snprintf(whole, 1024,
                        "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nUser-Agent: daruma-bench\r\n"
                        "Accept: application/json\r\nContent-Type: application/json\r\n"
                        "Authorization: Bearer sk-bench-0000000000000000\r\nContent-Length: %zu\r\n\r\n",
                        soak.path, soak.port, b.n);
    if (head < 0 || head >= 1024)
        die("path");
    memcpy(whole + head, b.p, b.n);
    soak.request[shape] = whole;
    soak.request_n[shape] = (size_t)head + b.n;
}

/* Mean of a figure of the samples between two shares of the run, in hundredths. */
static double mean(size_t from, size_t to, size_t field)
{
    double sum = 0;
    size_t first = soak.nsamples * from / 100, last = soak.nsamples * to / 100;
    for (size_t i = first; i < last; i++) {
        const proc_use *u = &soak.samples[i].use;
        sum += (double)(field == 0 ? u->private_kb : field == 1 ? u->rss_kb : u->descriptors);
    }
    return last > first ? sum / (double)(last - first) : 0;
}

static void print_samples(void)
{
    size_t step = soak.nsamples / 60 + 1;
    printf(",\"samples\":[");
    for (size_t i = 0; i < soak.nsamples; i += step) {
        const moment *m = &soak.samples[i];
        printf("%s[%.1f,%lld,%lld,%lld]", i ? "," : "", m->seconds, (long long)m->use.rss_kb,
               (long long)m->use.private_kb, (long long)m->use.descriptors);
    }
    printf("]");
}

static int report(long long called, long long rest, const proc_use *before, const proc_use *after)
{
    double per = called >= 0 ? (double)called / (double)soak.requests : -1;
    double share = (double)soak.verdicts[ANSWERED] / (double)soak.requests;
    bool reached =
        soak.verdicts[WRONG] == 0 && share >= strtod(soak.goal_answered, NULL) && per <= strtod(soak.goal_calls, NULL);
    times_sort(&soak.took);
    printf("{\"requests\":%ld,\"answered\":%ld,\"explained\":%ld,\"wrong\":%ld,\"other_text\":%ld,\"broken\":%ld,"
           "\"late\":%ld,\"cut_streams\":%lld,\"cut_streams_got_their_rest\":%lld,\"said_recovered\":%ld,\"status_"
           "2xx\":%ld,\"status_4xx\":%ld,\"status_5xx\":%ld,\"answered_share\":%.5f,"
           "\"upstream_calls\":%lld,\"calls_per_request\":%.4f,\"seconds\":%.1f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
           "\"max_ms\":%.2f",
           soak.requests, soak.verdicts[ANSWERED], soak.verdicts[EXPLAINED], soak.verdicts[WRONG], soak.other_text,
           soak.broken, soak.late, rest + soak.broken_off, rest, soak.recovered, soak.statuses[2], soak.statuses[4],
           soak.statuses[5], share, called, per, (double)(clock_ns() - soak.from) / 1e9,
           times_at(&soak.took, 500) / 1000, times_at(&soak.took, 990) / 1000, times_at(&soak.took, 1000) / 1000);
    if (soak.watch) {
        printf(
            ",\"private_kb_before\":%lld,\"private_kb_after\":%lld,\"private_kb_growth\":%.0f,\"rss_kb_growth\":%.0f,"
            "\"descriptors_before\":%lld,\"descriptors_after\":%lld,\"descriptors_growth\":%.1f",
            (long long)before->private_kb, (long long)after->private_kb, mean(75, 100, 0) - mean(25, 50, 0),
            mean(75, 100, 1) - mean(25, 50, 1), (long long)before->descriptors, (long long)after->descriptors,
            mean(75, 100, 2) - mean(25, 50, 2));
        print_samples();
    }
    printf(",\"goals\":\"%s\"}\n", reached ? "reached" : "missed");
    return reached ? 0 : 1;
}

int main(int argc, char **argv)
{
    soak.clients = 200;
    soak.requests = 100000;
    soak.timeout_ms = 120000;
    soak.sample_ms = 500;
    soak.seed = 1;
    soak.gateway = "http://127.0.0.1:4141";
    soak.model = "m-main";
    soak.goal_calls = "1.35";
    soak.goal_answered = "0.999";
    const option_row rows[] = {
        {"--gateway", NULL, &soak.gateway, "address of the gateway, on loopback"},
        {"--control", NULL, &soak.control, "address of the upstream's report, e.g. http://127.0.0.1:9100"},
        {"--clients", &soak.clients, NULL, "concurrent clients"},
        {"--requests", &soak.requests, NULL, "requests in all"},
        {"--model", NULL, &soak.model, "model asked for"},
        {"--watch", &soak.watch, NULL, "process whose memory and descriptors are sampled; 0: none"},
        {"--sample-ms", &soak.sample_ms, NULL, "time between samples"},
        {"--timeout-ms", &soak.timeout_ms, NULL, "an answer later than this is wrong"},
        {"--seed", &soak.seed, NULL, "order of sizes and streams"},
        {"--answered", NULL, &soak.goal_answered, "goal: least share answered"},
        {"--calls", NULL, &soak.goal_calls, "goal: most upstream calls per request"},
        {0}};
    options_read(argc, argv, rows);
    if (!url_read(soak.gateway, &soak.port, &soak.path) || soak.clients < 1 || soak.requests < 1) {
        errno = EINVAL;
        die("options");
    }
    if (!soak.path[0] || !soak.path[1])
        soak.path = "/v1/chat/completions";
    soak.dice = (uint64_t)soak.seed * 0x9E3779B97F4A7C15u | 1;
    for (size_t i = 0; i < SHAPES; i++)
        ask_for_text(i, (size_t)400 << i / 2 * 2);
    descriptors_raise(soak.clients + 64);
    soak.epoll = epoll_create1(EPOLL_CLOEXEC);
    client *clients = calloc((size_t)soak.clients, sizeof *clients);
    if (soak.epoll < 0 || !clients)
        die("start");
    for (long i = 0; i < soak.clients; i++)
        clients[i].fd = -1;

    proc_use before = soak.watch ? proc_all(soak.watch) : (proc_use){0};
    long long called = calls(), rest = rests();
    soak.from = clock_ns();
    run(clients);
    nanosleep(&(struct timespec){.tv_sec = SETTLE_MS / 1000}, NULL);
    proc_use after = soak.watch ? proc_all(soak.watch) : (proc_use){0};
    long long now = calls();
    int code = report(called < 0 || now < 0 ? -1 : now - called, rests() - rest, &before, &after);
    for (long i = 0; i < soak.clients; i++)
        free(clients[i].body);
    for (size_t i = 0; i < SHAPES; i++) {
        free(soak.request[i]);
        free((void *)(uintptr_t)soak.asked[i].p);
    }
    free(clients);
    free(soak.took.ns);
    return code;
}
