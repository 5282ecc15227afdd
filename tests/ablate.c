/* ablate - takes each row of the phrase table out in turn and names those without which no verdict changes.
 *
 *     ablate RECORDS.jsonl...         each row alone, all others in their places
 *     ablate --together RECORDS...    one after the other, those that nothing changes without stay out; rows of
 * sentences stay, for they are what makes others needless ablate --unused RECORDS...      those that decide nothing of
 * any record: fails when there is one ablate --sure RECORDS...        how often each kind of evidence is right, and the
 * Brier score of `sure` ablate --only WHERE RECORDS...  how many verdicts stay right without the rows of text ("text"),
 * and so on
 *
 * A verdict is kind, kind of tool and whether it may pass. Of a record only the rows that decided it matter, so that
 * all of it takes a second. */
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/judge/match.h"
#include <stdio.h>
#include <stdlib.h>

#define ROWS_MAX    4096
#define RECORDS_MAX 32768
#define FOUND_MAX   16

bool ablated_taken(uint16_t row);
void ablated_found(uint16_t row);

static struct record {
    daruma_evidence ev;
    daruma_kind label;
    daruma_tool_kind tool;
    daruma_failure was;
    uint16_t found[FOUND_MAX]; /* rows that decided something on the way */
    int nfound;
} records[RECORDS_MAX];
static int nrecords, nheld; /* those behind nrecords are held out */
static struct record *now;
static bool taken[ROWS_MAX];
static char work[2u << 20];

bool ablated_taken(uint16_t row)
{
    return taken[row];
}

void ablated_found(uint16_t row)
{
    if (row && now && now->nfound < FOUND_MAX)
        now->found[now->nfound++] = row;
}

/* Rows of text share the name of what they speak of. */
static void say_row(uint16_t row)
{
    phrase p = match_row(row);
    printf(p.where == AT_TEXT ? "%s: %s\n" : "%s\n", p.name, p.says);
}

static daruma_failure judge(struct record *r)
{
    daruma_arena a = arena_over(work, sizeof work);
    now = r;
    r->nfound = 0;
    daruma_failure f = daruma_classify(&r->ev, (daruma_moment){.now = 1, .wall = 1767225600}, &a);
    now = NULL;
    f.message = f.code = f.subject = (daruma_str){0};
    return f;
}

static bool same(const daruma_failure *a, const daruma_failure *b)
{
    return a->kind == b->kind && a->tool_kind == b->tool_kind && a->retryable == b->retryable;
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    static char lines[8u << 20], *room = lines;
    static char texts[16u << 20];
    static daruma_arena a;
    if (!nrecords)
        a = arena_over(texts, sizeof texts);
    if (!f) {
        perror(path);
        exit(1);
    }
    daruma_str rest = {room, fread(room, 1, (size_t)(lines + sizeof lines - room), f)};
    room += rest.n;
    fclose(f);
    while (rest.n && nrecords < RECORDS_MAX) {
        daruma_str line = str_trim(str_cut(&rest, '\n'));
        if (!line.n)
            continue;
        struct record *r = &records[nrecords++];
        daruma_str flaw = json_text(json_get(line, S("flaw")), &a), net = json_text(json_get(line, S("net")), &a);
        r->ev = (daruma_evidence){.phase = DARUMA_AT_HEAD,
                                  .status = (int)json_int(json_get(line, S("status")), 0),
                                  .provider = json_text(json_get(line, S("provider")), &a),
                                  .body = json_text(json_get(line, S("body")), &a),
                                  .flaw = str_eq(flaw, S("broken"))     ? DARUMA_FLAW_BROKEN
                                          : str_eq(flaw, S("cut"))      ? DARUMA_FLAW_CUT
                                          : str_eq(flaw, S("silent"))   ? DARUMA_FLAW_SILENT
                                          : str_eq(flaw, S("filtered")) ? DARUMA_FLAW_FILTERED
                                          : str_eq(flaw, S("encoded"))  ? DARUMA_FLAW_ENCODED
                                                                        : DARUMA_FLAW_NONE,
                                  .took = -1};
        for (int n = 0; n < DARUMA_NETS; n++)
            if (str_eq(net, str_of(daruma_net_name((daruma_net)n))))
                r->ev.net = (daruma_net)n;
        daruma_str kind = json_text(json_get(line, S("kind")), &a);
        for (int k = 0; k < DARUMA_KINDS; k++)
            if (str_eq(kind, str_of(daruma_kind_name((daruma_kind)k))))
                r->label = (daruma_kind)k;
        daruma_str tool = json_text(json_get(line, S("tool_kind")), &a);
        for (int k = 1; k < DARUMA_TOOL_KINDS; k++)
            if (str_eq(tool, str_of(daruma_tool_kind_name((daruma_tool_kind)k))))
                r->tool = (daruma_tool_kind)k;
        r->was = judge(r);
    }
}

/* Does a verdict change without the row? Looks at the records that it decided something of. */
static bool changes(uint16_t row, bool keep)
{
    bool any = false;
    taken[row] = true;
    for (int i = 0; i < nrecords && !any; i++) {
        struct record *r = &records[i], trial = *r;
        bool decides = false;
        for (int k = 0; k < r->nfound; k++)
            decides |= r->found[k] == row;
        if (!decides)
            continue;
        daruma_failure f = judge(&trial);
        any = !same(&f, &r->was);
    }
    if (any || !keep)
        taken[row] = false;
    else
        for (int i = 0; i < nrecords; i++)
            for (int k = 0; k < records[i].nfound; k++)
                if (records[i].found[k] == row) {
                    judge(&records[i]);
                    break;
                }
    return any;
}

static int right(int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++) {
        daruma_failure f = judge(&records[i]);
        n += f.kind == records[i].label && f.tool_kind == records[i].tool;
    }
    return n;
}

/* How often each kind of evidence is right. Rows of text are sentences that somebody has seen: without them the records
 * are as new to the table as those of tomorrow. */
static void say_sure(const char *what)
{
    static const char *const names[] = {"text",   "code",     "finish",  "shape", "net",
                                        "status", "sentence", "message", "none"};
    int n[COUNT(names)] = {0}, good[COUNT(names)] = {0};
    double stated[COUNT(names)] = {0}, brier = 0;
    for (int i = 0; i < nrecords; i++) {
        daruma_failure f = judge(&records[i]);
        size_t at = !f.rule ? COUNT(names) - 1 : match_row(f.rule).where;
        bool hit = f.kind == records[i].label;
        n[at]++;
        good[at] += hit;
        stated[at] += f.sure;
        brier += (f.sure / 100.0 - hit) * (f.sure / 100.0 - hit);
    }
    printf("%s\n", what);
    for (size_t k = 0; k < COUNT(names); k++)
        if (n[k])
            printf("  %-9s %4d records, %5.1f %% right, sure says %5.1f %%\n", names[k], n[k], 100.0 * good[k] / n[k],
                   stated[k] / n[k]);
    printf("  Brier score %.3f\n", brier / nrecords);
}

int main(int argc, char **argv)
{
    bool sure = argc > 1 && strcmp(argv[1], "--sure") == 0, rules = argc > 1 && strcmp(argv[1], "--rules") == 0;
    bool unused = argc > 1 && strcmp(argv[1], "--unused") == 0,
         together = argc > 1 && strcmp(argv[1], "--together") == 0, only = argc > 2 && strcmp(argv[1], "--only") == 0;
    int idle = 0, rows = 0, before_held = 0;
    int first = 1 + together + unused + sure + rules + 2 * only, held = RECORDS_MAX;
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            held = nrecords, i++;
        read_file(argv[i]);
    }
    if (held < nrecords) {
        nheld = nrecords - held;
        nrecords = held;
        before_held = right(nrecords, nrecords + nheld);
    }
    if (only) {
        int before = right(0, nrecords);
        for (uint16_t r = 1; match_row(r).name; r++)
            taken[r] = strstr(argv[2], "text") && match_row(r).where == AT_TEXT;
        printf("%d right of %d; without %s %d\n", before, nrecords, argv[2], right(0, nrecords));
        for (int i = 0; strstr(argv[2], "show") && i < nrecords; i++) {
            daruma_failure f = judge(&records[i]);
            if (f.kind != records[i].label || f.tool_kind != records[i].tool)
                printf("%s %s -> %s %s by %s | %d " STR_FMT " | %.200s\n", daruma_kind_name(records[i].label),
                       daruma_tool_kind_name(records[i].tool), daruma_kind_name(f.kind),
                       daruma_tool_kind_name(f.tool_kind), daruma_rule_name(f.rule), records[i].ev.status,
                       STR_ARG(records[i].ev.provider), records[i].ev.body.p ? records[i].ev.body.p : "");
        }
        return 0;
    }
    while (match_row((uint16_t)(rows + 1)).name)
        rows++;
    if (sure) {
        say_sure("with all rows");
        for (uint16_t r = 1; r <= rows; r++)
            taken[r] = match_row(r).where == AT_TEXT;
        say_sure("without the rows of text");
        return 0;
    }
    for (int i = 0; rules && i < nrecords; i++)
        printf("%s\n", daruma_rule_name(records[i].was.rule));
    if (rules)
        return 0;
    if (unused) {
        static bool used[ROWS_MAX];
        for (int i = 0; i < nrecords; i++)
            for (int k = 0; k < records[i].nfound; k++)
                used[records[i].found[k]] = true;
        for (uint16_t r = 1; r <= rows; r++)
            if (!used[r]) {
                idle++;
                say_row(r);
            }
        printf("%d of %d rows decide nothing of %d records\n", idle, rows, nrecords);
        return idle > 0;
    }
    for (uint16_t r = (uint16_t)rows; r;
         r--) /* from the general to the special: those that come late in the table stay */
        if (match_row(r).where == AT_TEXT || !together)
            if (!changes(r, together)) {
                idle++;
                say_row(r);
            }
    for (uint16_t r = (uint16_t)rows; together && r; r--)
        if (match_row(r).where != AT_TEXT && match_row(r).where < AT_SENTENCE && !changes(r, together)) {
            idle++;
            say_row(r);
        }
    for (int i = nrecords; i < nrecords + nheld; i++) {
        struct record *r = &records[i];
        daruma_failure f = judge(r);
        if (f.kind != r->label && r->was.kind == r->label)
            fprintf(stderr, "%s by %s -> %s by %s | %d " STR_FMT " | " STR_FMT "\n", daruma_kind_name(r->label),
                    daruma_rule_name(r->was.rule), daruma_kind_name(f.kind), daruma_rule_name(f.rule), r->ev.status,
                    STR_ARG(r->ev.provider), STR_ARG(str_sub(r->ev.body, 0, 260)));
    }
    if (nheld)
        fprintf(stderr, "held out: %d right of %d, %d before\n", right(nrecords, nrecords + nheld), nheld, before_held);
    fprintf(stderr, "%d of %d rows decide nothing of %d records\n", idle, rows, nrecords);
    return 0;
}
