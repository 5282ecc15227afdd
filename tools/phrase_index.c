/* phrase_index - writes the index of the phrase table as C tables. Runs at build time.
 *
 * A text row stands under the word of its pattern that the fewest rows share; a fact row under
 * its fact; rows in other scripts under one common mark. Fails when two keys share a hash, when
 * a row has no word, or when two rows have one name. */
#include "engine/judge/phrases.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>

#define SLOTS   4096 /* power of two, more than twice the rows */
#define ROW_MAX 2048

static daruma_str key_of[ROW_MAX];

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
    for (uint16_t r = 0; r < nphrases; r++)
        if (phrases[r].where == AT_TEXT)
            for (int k = 0; phrase_word(phrases[r].says, k).n; k++)
                if (str_eq(phrase_word(phrases[r].says, k), word)) {
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

static void print_needs(const char *name, const char *const *says)
{
    printf("static const uint64_t %s[] = {", name);
    for (; *says; says++)
        printf("0x%llx,", (unsigned long long)needs(*says));
    printf("};\n");
}

int main(void)
{
    static struct {
        uint32_t hash;
        daruma_str key;
        uint8_t where;
        int n, rows[ROW_MAX];
    } slots[SLOTS];
    int bad = 0;
    if (nphrases > ROW_MAX) {
        fprintf(stderr, "phrase_index: %d rows, room for %d\n", nphrases, ROW_MAX);
        return 1;
    }
    for (uint16_t r = 0; r < nphrases; r++) {
        const phrase *p = &phrases[r];
        key_of[r] = choose(p);
        if (!key_of[r].n) {
            fprintf(stderr, "phrase_index: row %s: no word of \"%s\" can be looked up\n", p->name, p->says);
            bad = 1;
        }
        for (uint16_t q = 0; q < r; q++)
            if (strcmp(phrases[q].name, p->name) == 0) {
                fprintf(stderr, "phrase_index: two rows are called %s\n", p->name);
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
    printf("/* made by tools/phrase_index.c */\n#define PHRASE_COUNT %d\n#define PHRASE_SLOTS %d\n", nphrases, SLOTS);
    printf("static const uint16_t phrase_rows[PHRASE_COUNT] = {");
    for (int i = 0; i < SLOTS; i++)
        for (int k = 0; k < slots[i].n; k++)
            printf("%d,", slots[i].rows[k]);
    printf("};\nstatic const phrase_slot phrase_slots[PHRASE_SLOTS] = {\n");
    for (int i = 0, first = 0; i < SLOTS; first += slots[i].n, i++)
        if (slots[i].n)
            printf("[%d] = {%uu, %d, %d},\n", i, slots[i].hash, first, slots[i].n);
    printf("};\nstatic const uint64_t phrase_needs[PHRASE_COUNT] = {\n");
    for (uint16_t r = 0; r < nphrases; r++)
        printf("0x%llx,\n", (unsigned long long)(needs(phrases[r].where == AT_TEXT ? phrases[r].says : NULL) |
                                                 needs(phrases[r].also)));
    printf("};\n");
    print_needs("phrase_needs_of_tools", phrases_of_tools);
    print_needs("phrase_needs_of_models", phrases_of_models);
    return 0;
}
