/* phrase_index - writes the index of the phrase table as C tables. Runs at build time.
 *
 * A text row stands under the word of its pattern that the fewest rows share; a fact row under
 * its fact; rows in other scripts under one common mark. Fails when two keys share a hash, when
 * a row has no word, or when a row stands there twice. */
#include "engine/judge/phrases.h"
#include "engine/read/sentence.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>

#define SLOTS   4096 /* power of two, more than twice the words that rows stand under */
#define ROW_MAX 1216

/* The table, a row for each saying. */
static phrase rows[ROW_MAX];
static char names[ROW_MAX][64];
static uint16_t nrows;
static daruma_str key_of[ROW_MAX];

static void add_row(phrase p, const char *says)
{
    bool equal = p.name[strlen(p.name) - 1] == '.'; /* what is equal is its name */
    int n = nrows < ROW_MAX ? snprintf(names[nrows], sizeof *names, "%s%s", p.name, equal ? says : "") : -1;
    if (n < 0 || (size_t)n >= sizeof *names) {
        fprintf(stderr, "phrase_index: no room for row %s \"%s\"\n", p.name, says);
        exit(1);
    }
    p.name = names[nrows];
    p.says = says;
    p.any = NULL;
    rows[nrows++] = p;
}

static void read_rows(void)
{
    for (uint16_t r = 0; r < nphrases; r++)
        if (phrases[r].says)
            add_row(phrases[r], phrases[r].says);
        else
            for (const char *const *says = phrases[r].any; *says; says++)
                add_row(phrases[r], *says);
}

static bool foreign(const char *says)
{
    for (; *says; says++)
        if ((unsigned char)*says >= 0x80)
            return true;
    return false;
}

static int sharing(daruma_str word)
{
    int n = 0;
    for (uint16_t r = 0; r < nrows; r++)
        if (rows[r].where == AT_TEXT)
            for (int k = 0; phrase_word(rows[r].says, k).n; k++)
                if (str_eq(phrase_word(rows[r].says, k), word)) {
                    n++;
                    break;
                }
    return n;
}

static daruma_str choose(const phrase *p)
{
    if (p->where != AT_TEXT)
        return str_of(p->says);
    if (foreign(p->says))
        return S("\x80");
    daruma_str best = {0};
    int least = ROW_MAX + 1;
    for (int k = 0; phrase_word(p->says, k).n; k++) {
        daruma_str w = phrase_word(p->says, k);
        int n = sharing(w) * 4 - (int)w.n;
        if (n < least) {
            least = n;
            best = w;
        }
    }
    return best;
}

/* The words that must occur for a pattern to fit. */
static uint64_t needs(const char *says)
{
    uint64_t set = 0;
    for (int k = 0; says && phrase_word(says, k).n; k++)
        set |= phrase_bit(phrase_hash(AT_TEXT, phrase_word(says, k)));
    return set;
}


/* ---- text, each once, without a pointer: those would be set anew in every process ----------- */

static char text[256 << 10];
static size_t ntext = 1; /* 0: nothing is said */

static size_t place_of(const char *says)
{
    if (!says)
        return 0;
    size_t n = strlen(says) + 1;
    size_t there = str_find((daruma_str){text + 1, ntext - 1}, (daruma_str){says, n}); /* the end of a longer one, too */
    if (there != STR_NONE)
        return there + 1;
    if (n > sizeof text - ntext) {
        fprintf(stderr, "phrase_index: no room for \"%s\"\n", says);
        exit(1);
    }
    memcpy(text + ntext, says, n);
    ntext += n;
    return ntext - n;
}

static void print_text(const char *name)
{
    printf("static const char %s[] = {", name);
    for (size_t i = 0; i < ntext; i++)
        printf(i % 32 ? "%d," : "\n%d,", (signed char)text[i]);
    printf("};\n");
}

/* Patterns, and the words that they need. */
static void print_patterns(const char *name, const char *const *says)
{
    printf("static const phrase_pattern %s[] = {", name);
    for (; *says; says++)
        printf("{0x%llxull, %zu},", (unsigned long long)needs(*says), place_of(*says));
    printf("{0}};\n");
}

/* ---- meanings of words ---------------------------------------------------------------------- */

#define MEANINGS_MAX 64
#define STEMS_MAX    2240
#define STEM_BYTES   64

static const struct {
    const char *meanings, *words;
} lists[] = {
#define SAYS(m, w) {m, w},
#include "engine/read/words.def"
#undef SAYS
};

static const char *meanings[MEANINGS_MAX];
static int nmeanings;

static struct stem {
    char says[STEM_BYTES];
    bool whole;
    uint64_t means, denied;
} stems[STEMS_MAX];
static int nstems;

static noreturn void give_up(const char *why, const char *word)
{
    fprintf(stderr, "phrase_index: %s: %s\n", word, why);
    exit(1);
}

static uint64_t bit_of(daruma_str name)
{
    for (int i = 0; i < nmeanings; i++)
        if (str_eq(str_of(meanings[i]), name))
            return (uint64_t)1 << i;
    return 0;
}

/* "context.exceeded" as bits. */
static uint64_t bits_of(const char *names)
{
    uint64_t bits = 0;
    for (daruma_str rest = str_of(names); rest.n;) {
        daruma_str name = str_cut(&rest, '.');
        uint64_t bit = bit_of(name);
        if (!bit)
            give_up("no such meaning in words.def", names);
        bits |= bit;
    }
    return bits;
}

/* The bit of a meaning, which gets one where it is met first. */
static uint64_t new_bit(daruma_str name)
{
    static char room[MEANINGS_MAX][STEM_BYTES];
    uint64_t bit = bit_of(name);
    if (bit)
        return bit;
    if (nmeanings == MEANINGS_MAX || name.n >= STEM_BYTES)
        give_up("no room for this meaning", name.p);
    memcpy(room[nmeanings], name.p, name.n);
    meanings[nmeanings] = room[nmeanings];
    return (uint64_t)1 << nmeanings++;
}

static void add_stem(daruma_str word, uint64_t means, uint64_t denied)
{
    bool whole = str_ends(word, S("$"));
    word.n -= whole;
    for (int i = 0; i < nstems; i++)
        if (stems[i].whole == whole && str_eq(str_of(stems[i].says), word))
            give_up("it stands in two lists", stems[i].says);
    if (nstems == STEMS_MAX || word.n >= STEM_BYTES || word.n < 2)
        give_up("no room for this word", word.p);
    struct stem *s = &stems[nstems++];
    memcpy(s->says, word.p, word.n);
    s->whole = whole;
    s->means = means;
    s->denied = denied;
}

/* Stems of four bytes and more by the first four of them, then the shorter ones by their shelf; the longer ones first.
 */
static int in_order(const void *a, const void *b)
{
    const struct stem *x = a, *y = b;
    size_t n = strlen(x->says), m = strlen(y->says);
    if ((n < SENTENCE_HEAD) != (m < SENTENCE_HEAD))
        return n < SENTENCE_HEAD ? 1 : -1;
    int order = n < SENTENCE_HEAD ? sentence_shelf(x->says) - sentence_shelf(y->says) : memcmp(x->says, y->says, SENTENCE_HEAD);
    if (order)
        return order;
    return n != m ? (n < m) - (n > m) : x->whole != y->whole ? y->whole - x->whole : strcmp(x->says, y->says);
}

static void read_words(void)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        uint64_t means = 0, denied = 0;
        for (daruma_str rest = str_of(lists[i].meanings); rest.n;) {
            daruma_str name = str_cut(&rest, '.');
            bool not = str_starts(name, S("!"));
            *(not ? &denied : &means) |= new_bit(str_from(name, not));
        }
        for (daruma_str rest = str_of(lists[i].words); rest.n;)
            add_stem(str_cut(&rest, ' '), means, denied);
    }
    qsort(stems, (size_t)nstems, sizeof *stems, in_order);
}

static bool begins_head(int i)
{
    return strlen(stems[i].says) >= SENTENCE_HEAD && (i == 0 || strncmp(stems[i].says, stems[i - 1].says, SENTENCE_HEAD) != 0);
}

/* Where the stems of each head begin, by its hash, counted from 1; 0: a free slot. */
static void print_heads(void)
{
    static int slots[SENTENCE_SLOTS];
    for (int i = 0; i < nstems; i++) {
        unsigned at = sentence_slot(stems[i].says);
        while (begins_head(i) && slots[at % SENTENCE_SLOTS])
            at++;
        if (begins_head(i))
            slots[at % SENTENCE_SLOTS] = i + 1;
    }
    printf("static const uint16_t sentence_heads[SENTENCE_SLOTS] = {");
    for (int i = 0; i < SENTENCE_SLOTS; i++)
        printf("%d,", slots[i]);
    printf("};\n");
}

static int print_words(void)
{
    printf("/* made by tools/phrase_index.c */\n#define SENTENCE_NEGATES 0x%llxull\n",
           (unsigned long long)bits_of("negates"));
    printf("#define SENTENCE_PLAN 0x%llxull\n", (unsigned long long)bits_of("plan"));
    printf("#define SENTENCE_VAGUE 0x%llxull\n",
           (unsigned long long)bits_of("negates.failed.label.request.internal.without.later.broken"));
    printf("#define SENTENCE_WHO 0x%llxull\n",
           (unsigned long long)bits_of("negates.failed.label.request.internal.without.later.broken.bad.denied.model.answer."
                                       "tool.endpoint.unsupported.context.token.input.message"));
    printf("#define SENTENCE_OUTAGE 0x%llxull\n", (unsigned long long)bits_of("wire.server.json.answer.empty"));
    printf("static const sentence_word sentence_words[] = {\n");
    for (int i = 0; i < nstems; i++)
        printf("{0x%llxull, 0x%llxull, {%d, %d, %d, %d}, %zu, %zu, %d},\n", (unsigned long long)stems[i].means,
               (unsigned long long)stems[i].denied, stems[i].says[0], stems[i].says[1], stems[i].says[2],
               stems[i].says[2] ? stems[i].says[3] : 0, place_of(stems[i].says), strlen(stems[i].says), stems[i].whole);
    printf("};\n");
    print_text("sentence_text");
    printf("static const uint16_t sentence_shelves[SENTENCE_SHELVES + 1] = {");
    for (int shelf = 0, i = 0; shelf <= SENTENCE_SHELVES; shelf++) {
        while (i < nstems && (strlen(stems[i].says) >= SENTENCE_HEAD || sentence_shelf(stems[i].says) < shelf))
            i++;
        printf("%d,", i);
    }
    printf("};\n");
    print_heads();
    return 0;
}

/* Of each meaning the senses that need it and are found by it: of what a sense needs the meaning that the fewest need. */
static void print_by_meaning(const uint64_t *all, int n)
{
    int needed[MEANINGS_MAX] = {0};
    static uint64_t by[MEANINGS_MAX][(ROW_MAX + 63) / 64];
    int words = (n + 63) / 64;
    for (int i = 0; i < n; i++)
        for (int m = 0; m < nmeanings; m++)
            needed[m] += all[i] >> m & 1;
    for (int i = 0; i < n; i++) {
        int best = -1;
        for (int m = 0; m < nmeanings; m++)
            if (all[i] >> m & 1 && (best < 0 || needed[m] < needed[best]))
                best = m;
        by[best][i / 64] |= (uint64_t)1 << i % 64;
    }
    printf("#define PHRASE_SENSE_WORDS %d\nstatic const uint64_t phrase_by_meaning[%d][%d] = {\n", words, nmeanings,
           words);
    for (int m = 0; m < nmeanings; m++) {
        printf("{");
        for (int w = 0; w < words; w++)
            printf("0x%llxull,", (unsigned long long)by[m][w]);
        printf("},\n");
    }
    printf("};\n");
}

/* The rows that look at meanings, in their order. */
static void print_senses(void)
{
    int tool = -1, first = -1, last = -1, code = 0, n = 0;
    static uint64_t all[ROW_MAX];
    while (code < nrows && rows[code].where != AT_CODE)
        code++;
    printf("#define SENTENCE_PER 0x%llxull\n#define SENTENCE_PERIOD 0x%llxull\n", (unsigned long long)bits_of("per"),
           (unsigned long long)bits_of("period"));
    printf("#define SENTENCE_RATE 0x%llxull\n", (unsigned long long)bits_of("rate"));
    printf("#define SENTENCE_BARE 0x%llxull\n",
           (unsigned long long)bits_of("param.bad.must.missing.request.failed.internal.server.wire.endpoint.later.answer.label"));
    printf("#define SENTENCE_WRONG 0x%llxull\n#define SENTENCE_FAILED 0x%llxull\n",
           (unsigned long long)bits_of("exceeded.reached.spent.absent.missing.empty.bad.unsupported.incapable.disabled."
                                       "denied.busy.away.late.broken.failed.without.violates"),
           (unsigned long long)bits_of("failed.internal.broken"));
    printf("#define SENTENCE_FORMED 0x%llxull\n#define SENTENCE_MISFORMED 0x%llxull\n",
           (unsigned long long)bits_of("json.answer"), (unsigned long long)bits_of("bad.failed.empty"));
    printf("#define SENTENCE_JSON 0x%llxull\n#define SENTENCE_SENT 0x%llxull\n", (unsigned long long)bits_of("json"),
           (unsigned long long)bits_of("request.size"));
    printf("#define SENTENCE_OF_FORM 0x%llxull\n",
           (unsigned long long)bits_of("json.answer.param.bad.empty.missing.failed.internal.server.wire.broken.away.later.label"));
    printf("#define SENTENCE_EMPTY 0x%llxull\n", (unsigned long long)bits_of("empty"));
    printf("#define SENTENCE_MISSING 0x%llxull\n#define SENTENCE_DENIED 0x%llxull\n",
           (unsigned long long)bits_of("missing"), (unsigned long long)bits_of("denied"));
    printf("#define SENTENCE_TOKEN 0x%llxull\n#define SENTENCE_EDIT 0x%llxull\n#define SENTENCE_DEVICE 0x%llxull\n",
           (unsigned long long)bits_of("token"), (unsigned long long)bits_of("edit"),
           (unsigned long long)bits_of("internal.machine"));
    printf("#define SENTENCE_WIRE 0x%llxull\n#define SENTENCE_OF_LEAD 0x%llxull\n", (unsigned long long)bits_of("wire"),
           (unsigned long long)bits_of("label.failed"));
    printf("#define SENTENCE_REFUSED 0x%llxull\n", (unsigned long long)bits_of("request.denied.model.label"));
    printf("#define SENTENCE_MEANINGS %d\n", nmeanings);
    printf("#define SENTENCE_BAD 0x%llxull\n#define SENTENCE_BROKEN 0x%llxull\n", (unsigned long long)bits_of("bad"),
           (unsigned long long)bits_of("broken"));
    printf("static const phrase_sense phrase_senses[] = {\n");
    for (uint16_t r = 0; r < nrows; r++) {
        const phrase *p = &rows[r];
        if (p->where < AT_SENTENCE)
            continue;
        tool = tool < 0 ? r : tool;
        first = first < 0 && p->only != FOR_TOOL ? r : first;
        last = p->where == AT_SENTENCE ? r : last;
        all[n++] = bits_of(p->says);
        printf("{%d, %d, 0x%llxull, 0x%llxull, 0x%llxull},\n", r, p->where == AT_MESSAGE,
               (unsigned long long)bits_of(p->says), (unsigned long long)bits_of(p->also),
               (unsigned long long)bits_of(p->unless));
    }
    printf("};\n#define PHRASE_SENSE_TOOL %d\n#define PHRASE_SENSE_FIRST %d\n#define PHRASE_SENSE_LAST %d\n", tool,
           first, last);
    printf("#define PHRASE_CODE_FIRST %d\n", code);
    print_by_meaning(all, n);
}

/* The rows themselves. */
static void print_rows(void)
{
    printf("static const phrase_row phrase_all[PHRASE_COUNT] = {\n");
    for (uint16_t r = 0; r < nrows; r++) {
        const phrase *p = &rows[r];
        printf("{%zu, %zu, %zu, %zu, %zu, %d, %d, %d, %d, %d, %d, %d},\n", place_of(p->name), place_of(p->says),
               place_of(p->unless), place_of(p->also), place_of(p->who), p->status, p->where, p->kind, p->tool_kind,
               p->retry, p->only, p->sum);
    }
    printf("};\n");
    print_text("phrase_text");
}

int main(int argc, char **argv)
{
    read_words();
    if (argc > 1 && strcmp(argv[1], "words") == 0)
        return print_words();
    read_rows();

    static struct {
        uint32_t hash;
        daruma_str key;
        uint8_t where;
        int n, rows[ROW_MAX];
    } slots[SLOTS];
    int bad = 0;
    for (uint16_t r = 0; r < nrows; r++) {
        const phrase *p = &rows[r];
        for (uint16_t q = 0; q < r; q++)
            if (strcmp(rows[q].name, p->name) == 0 && strcmp(rows[q].says, p->says) == 0) {
                fprintf(stderr, "phrase_index: two rows are called %s and say %s\n", p->name, p->says);
                bad = 1;
            }
        if (p->where >= AT_SENTENCE)
            continue; /* print_senses has them */
        key_of[r] = choose(p);
        if (!key_of[r].n) {
            fprintf(stderr, "phrase_index: row %s: no word of \"%s\" can be looked up\n", p->name, p->says);
            bad = 1;
        }
        uint32_t hash = phrase_hash((phrase_where)p->where, key_of[r]);
        uint32_t i = hash & (SLOTS - 1);
        while (slots[i].n && slots[i].hash != hash)
            i = (i + 1) & (SLOTS - 1);
        if (slots[i].n && (slots[i].where != p->where || !str_eq(slots[i].key, key_of[r]))) {
            fprintf(stderr, "phrase_index: row %s: hash taken\n", p->name);
            bad = 1;
        }
        slots[i].hash = hash;
        slots[i].key = key_of[r];
        slots[i].where = p->where;
        slots[i].rows[slots[i].n++] = r;
    }
    if (bad)
        return 1;
    printf("/* made by tools/phrase_index.c */\n#define PHRASE_COUNT %d\n#define PHRASE_SLOTS %d\n", nrows, SLOTS);
    printf("static const uint16_t phrase_rows[PHRASE_COUNT] = {");
    for (int i = 0; i < SLOTS; i++)
        for (int k = 0; k < slots[i].n; k++)
            printf("%d,", slots[i].rows[k]);
    printf("};\nstatic const phrase_slot phrase_slots[PHRASE_SLOTS] = {\n");
    for (int i = 0, first = 0; i < SLOTS; first += slots[i].n, i++)
        if (slots[i].n)
            printf("[%d] = {%uu, %d, %d},\n", i, slots[i].hash, first, slots[i].n);
    printf("};\nstatic const uint64_t phrase_needs[PHRASE_COUNT] = {\n");
    for (uint16_t r = 0; r < nrows; r++)
        printf("0x%llxull,\n", (unsigned long long)(needs(rows[r].where == AT_TEXT ? rows[r].says : NULL) |
                                                 needs(rows[r].where >= AT_SENTENCE ? NULL : rows[r].also)));
    printf("};\n");
    print_patterns("phrase_tools", phrases_of_tools);
    print_senses();
    print_rows();
    return 0;
}
