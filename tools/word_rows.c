/* word_rows - writes the tables of words.def as sorted rows, each word once. Runs at build time.
 *
 *     word_rows call      words of tools and commands
 *     word_rows result    words of results and of names */
#include "engine/watch/words/words.h"
#include "engine/watch/words/words_find.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MAX = 2048 };
#ifndef WORD_LISTS /* its test has lists of its own */
#define WORD_LISTS "engine/watch/words/words.def"
#endif

// clang-format off
/* As words.def calls them. */
enum {
    READS = DARUMA_TOOL_READS, WRITES = DARUMA_TOOL_WRITES, ACTS = DARUMA_TOOL_ACTS, NOTES = DARUMA_TOOL_NOTES,
    WAITS = DARUMA_TOOL_WAITS, COMPACTS = DARUMA_TOOL_COMPACTS, PAUSES = WORDS_PAUSES, ASKS = WORDS_ASKS,
    RANDOM = WORDS_RANDOM, INPUT = WORDS_INPUT, SHELL = WORDS_SHELL, MOVES = WORDS_MOVES, WEAK = WORDS_WEAK,
    SHORTEN = WORDS_SHORTEN, HISTORY = WORDS_HISTORY, STILL = WORDS_STILL, CHANGES = WORDS_CHANGES, ONCE = WORDS_ONCE,
    KEYS = WORDS_KEYS, SEEKS = WORDS_SEEKS, FINDS = WORDS_FINDS, IDLE = WORDS_IDLE, EMPTY = WORDS_EMPTY,
    ACK = WORDS_ACK, ALIVE = WORDS_ALIVE, OVER = WORDS_OVER, RETRY = WORDS_RETRY, ABSENT = WORDS_ABSENT,
    REFUSED = WORDS_REFUSED, UNCLEAR = WORDS_UNCLEAR, LIMITED = WORDS_LIMITED,
    MISUSED = WORDS_MISUSED | WORDS_REFUSED, SAME = WORDS_SAME, PLEA = WORDS_PLEA,
    UNMADE = WORDS_UNMADE | WORDS_RETRY, NONCE = NAME_NONCE, TIME = NAME_TIME, REASON = NAME_REASON,
    TITLE = NAME_TITLE, RUNS = NAME_COMMAND, QUERY = NAME_QUERY, LOOKS_FOR = NAME_QUERY | NAME_SEEKS,
    PAGE = NAME_PAGE, WAIT = NAME_WAIT, LIMIT = NAME_LIMIT, ACTION = NAME_ACTION, VOLATILE = NAME_VOLATILE,
    STATE = NAME_STATE, UNIT = NAME_UNIT,
};
// clang-format on

static const struct {
    const char *table;
    unsigned means;
    const char *words;
} lists[] = {
#define TOOL(m, w)    {"tool_rows", m, w},
#define COMMAND(m, w) {"command_rows", m, w},
#define SAID(m, w)    {"result_rows", m, w},
#define NAME(m, w)    {"name_rows", m, w},
#include WORD_LISTS
};

static words_row rows[ROWS_MAX];
static size_t nrows;

static int by_words(const void *a, const void *b)
{
    return memcmp(((const words_row *)a)->words, ((const words_row *)b)->words, WORDS_ROW_BYTES);
}

/* Can it stand in a text in lower case whose words are one blank apart? */
static bool is_plain(const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (word[i] == ',' || word[i] != ch_lower(word[i]) || (word[i] == ' ' && (!i || word[i - 1] == ' ')))
            return false;
    return n && word[n - 1] != ' ';
}

static void add(const char *word, size_t n, unsigned means)
{
    if (!is_plain(word, n) || n >= WORDS_ROW_BYTES || nrows == ROWS_MAX) {
        fprintf(stderr, "word_rows: no row has room for \"%.*s\", or it is never met\n", (int)n, word);
        exit(1);
    }
    memcpy(rows[nrows].words, word, n);
    rows[nrows++].means = means;
}

static void print_table(const char *table)
{
    memset(rows, 0, sizeof rows);
    nrows = 0;
    for (size_t i = 0; i < COUNT(lists); i++)
        for (const char *w = lists[i].words; strcmp(lists[i].table, table) == 0 && w; w = strstr(w, ", ")) {
            w += *w == ',' ? 2 : 0;
            const char *end = strstr(w, ", ");
            add(w, end ? (size_t)(end - w) : strlen(w), lists[i].means);
        }
    qsort(rows, nrows, sizeof *rows, by_words);
    printf("static const words_row %s[] = {\n", table);
    for (size_t i = 0; i < nrows; i++) {
        if (i && by_words(&rows[i - 1], &rows[i]) == 0) {
            fprintf(stderr, "word_rows: \"%s\" stands in %s twice\n", rows[i].words, table);
            exit(1);
        }
        printf("{\"%s\", 0x%xu},\n", rows[i].words, rows[i].means);
    }
    printf("};\n");
}

int main(int argc, char **argv)
{
    bool call = argc > 1 && strcmp(argv[1], "call") == 0;
    print_table(call ? "tool_rows" : "result_rows");
    print_table(call ? "command_rows" : "name_rows");
    return 0;
}
