/* sentence.h - a message as the meanings of its words, clause by clause. */
#ifndef READ_SENTENCE_H
#define READ_SENTENCE_H
#include "daruma_parts.h"

#define SENTENCE_BYTES_MAX 1024 /* of a text; what is wrong is said at its beginning */

/* Words are found by the hash of their first four bytes, those of fewer stand on shelves by their first two letters;
 * those of other scripts on the last. */
#define SENTENCE_SLOTS 4096
#define SENTENCE_HEAD  4
static inline unsigned sentence_slot(const char *word) /* the same on each machine: the table is made on another */
{
    uint32_t head = 0;
    for (int i = 0; i < SENTENCE_HEAD; i++)
        head |= (uint32_t)(unsigned char)word[i] << 8 * i;
    return head * 0x9e3779b9u >> 20;
}

#define SENTENCE_SHELVES (26 * 27 + 1)
static inline int sentence_shelf(const char *word) /* -1: no word begins so */
{
    int a = word[0] - 'a', b = word[1] - 'a';
    if ((unsigned char)word[0] >= 0x80)
        return SENTENCE_SHELVES - 1;
    return a < 0 || a > 25 ? -1 : a * 27 + (b < 0 || b > 25 ? 0 : b + 1);
}

typedef struct sentence {
    /* letters and digits; '_' before and behind each word, '.' behind a clause, ':' behind a lead */
    char words[SENTENCE_BYTES_MAX + 4 + SENTENCE_HEAD];
    uint64_t seams[SENTENCE_BYTES_MAX / 64 + 1]; /* a bit for each byte of `words`: something joins two words there */
    size_t n, at;
    bool lead; /* what was read last ends in a colon: the part behind it belongs to the same clause */
} sentence;

/* Begins to read `text`, lower case. In a code all words are joined; elsewhere joined words are a name. */
void sentence_open(sentence *s, daruma_str text, bool is_code);
/* The meanings of the next clause, or part of one up to a colon, a bit each as the index of the phrase table numbers
 * them; false: there is none. */
bool sentence_next(sentence *s, uint64_t *ret_means);
/* Bytes at the beginning of `text`, in any case, that only say that something failed: "The agent could not finish: ".
 */
size_t sentence_lead(daruma_str text);
/* Does a word of `text`, in any case, mean more than that something failed? */
bool sentence_says(daruma_str text);
/* ... and more than who failed? "The model call failed" does not say why. */
bool sentence_names_cause(daruma_str text);

/* True if `text` says more of what is wrong than one guess behind it: not where only a server or a connection failed.
 */
bool sentence_outdoes_guess(daruma_str text);
#endif
