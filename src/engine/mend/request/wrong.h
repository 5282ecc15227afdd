/* wrong.h - what a provider's message about a message means: which of the known mends, and where; and those mends that
 * look at the content of messages, whoever speaks. */
#ifndef ENGINE_MEND_REQUEST_WRONG_H
#define ENGINE_MEND_REQUEST_WRONG_H
#include "engine/mend/request/request.h"

/* What can be wrong with messages, and so what is done. */
enum wrong_bit {
    WRONG_EMPTY = 1 << 0,      /* content without anything in it */
    WRONG_TURNS = 1 << 1,      /* neighbours of one role */
    WRONG_FIRST = 1 << 2,      /* the user does not speak first */
    WRONG_LAST = 1 << 3,       /* the model has the last word (prefill) */
    WRONG_TRAILING = 1 << 4,   /* and it ends with white space */
    WRONG_SEAL = 1 << 5,       /* a signature or encrypted thinking is not accepted */
    WRONG_UNTHOUGHT = 1 << 6,  /* thinking is on, and the newest answer of the model has none */
    WRONG_UNSIGNED = 1 << 7,   /* a call lacks its signature (Gemini) */
    WRONG_THINKING = 1 << 8,   /* no thinking may be sent at all */
    WRONG_MEDIA = 1 << 9,      /* images and the like */
    WRONG_BLOCK = 1 << 10,     /* a kind of content nobody there knows */
    WRONG_ID = 1 << 11,        /* the id of a call */
    WRONG_NAME = 1 << 12,      /* the name of a tool in a call */
    WRONG_ARGUMENTS = 1 << 13, /* the arguments of a call */
    WRONG_DEVELOPER = 1 << 14, /* the role "developer" */
    WRONG_SYSTEM = 1 << 15,    /* system messages */
    WRONG_LIST = 1 << 16,      /* content has to be a string */
    WRONG_ITEM = 1 << 17,      /* an item named by its id (Responses) */
    WRONG_ROLE = 1 << 18,      /* the name of a role */
    WRONG_PIECE = 1 << 19,     /* text of the type that another role has (Responses) */
    WRONG_SILENT = 1 << 20,    /* the user speaks before the model said something to results (Mistral) */
    WRONG_PROMPT = 1 << 21,    /* a system prompt that stands apart: there may be none (Gemma at Google) */
    WRONG_LATER = 1 << 22,     /* system messages behind the beginning */
    WRONG_TEXTS = 1 << 23,     /* content that is a list of texts has to be a string */
    WRONG_NINE = 1 << 24,      /* ids of calls are nine letters or digits (Mistral) */
    WRONG_REASONED = 1 << 25,  /* answers that call tools need the thinking before them, and it is lost (DeepSeek) */
    WRONG_NULL = 1 << 26,      /* an answer that only calls tools needs a content */
    WRONG_JSON = 1 << 27,      /* who asks for JSON has to say so in words, too (OpenAI) */
    WRONG_BARE = 1 << 28,      /* an answer that only calls tools has to say something, too */
    WRONG_TOOLS = MEND_PLAIN_TOOL_NAMES, /* names of tools that have more than letters, digits, _ and -, or are long */
};

/* What a model never takes, whatever is asked: the habits that mend_habits() knows. In snapshots: their bits stay. */
#define WRONG_ALWAYS                                                                                                   \
    (WRONG_DEVELOPER | WRONG_SYSTEM | WRONG_LATER | WRONG_PROMPT | WRONG_TEXTS | WRONG_NINE | WRONG_REASONED |         \
     WRONG_NULL | WRONG_BARE | WRONG_TURNS | WRONG_TOOLS)

typedef struct wrong_place {
    size_t message, part; /* index into the convo; STR_NONE not said */
    size_t inner;         /* of a result's parts; likewise */
} wrong_place;
#define WRONG_ANYWHERE ((wrong_place){STR_NONE, STR_NONE, STR_NONE})

/* Of the words of a failure; 0 when they say nothing that is known. */
uint32_t wrong_of(const daruma_failure *f, daruma_arena *a);
/* Of WRONG_ALWAYS: what the provider's own words say of any request, and not of this one. */
uint32_t wrong_lasts(const daruma_failure *f, daruma_arena *a);
/* Where: "messages.3.content.0", "input[39].call_id", "contents[2].parts[1]", in the subject or the message. `sent`
 * (may be NULL) as for mend_messages(): of what stands elsewhere images and files alone are found. */
wrong_place wrong_at(const convo *c, const daruma_failure *f, const mend_sent *sent);
/* Does it name such a place? */
bool wrong_is_placed(const daruma_failure *f);
/* The n-th (from 0) word in quotes of a text; empty when there is none. */
daruma_str wrong_quoted(daruma_str text, size_t n);

/* ---- one run of mend_messages ---- */

/* What is counted, and how it is told, in this order. */
#define MENDED_MAP(X)                                                                                                  \
    X(EMPTY, "empty message or text was mended", "empty messages or texts were mended")                                \
    X(MERGED, "message was joined with its neighbour", "messages were joined with their neighbours")                   \
    X(ORDER, "message was put right at the beginning or end", "messages were put right at the ends")                   \
    X(THINKING, "piece of thinking was left out", "pieces of thinking were left out")                                  \
    X(THOUGHTS, "answer got thinking in the place of what was lost",                                                   \
      "answers got thinking in the place of what was lost")                                                            \
    X(MEDIA, "file or image was left out", "files or images were left out")                                            \
    X(BLOCKS, "unknown piece of content was left out", "unknown pieces of content were left out")                      \
    X(IDS, "tool call got another id", "tool calls got other ids")                                                     \
    X(NAMES, "name was changed", "names were changed")                                                                 \
    X(ARGUMENTS, "tool call got readable arguments", "tool calls got readable arguments")                              \
    X(ROLES, "message got another role", "messages got other roles")                                                   \
    X(FLAT, "message became plain text", "messages became plain text")                                                 \
    X(PIECES, "text got the type of its role", "texts got the type of their role")                                     \
    X(ITEMS, "item was sent without its id", "items were sent without their ids")
enum {
#define X(name, one, many) MENDED_##name,
    MENDED_MAP(X)
#undef X
        MENDED_KINDS
};

typedef struct mending {
    convo *c;
    const daruma_failure *f; /* NULL: what is surely wrong */
    wrong_place at;
    uint32_t wrong;
    bool named;   /* the provider says that it is so, not only the wire */
    uint32_t did; /* of `wrong`: something was done about it */
    uint32_t n[MENDED_KINDS];
    uint32_t halves; /* of MENDED_THINKING: a signature was refused, and what had none was left out */
} mending;

/* messages.c */
void mending_named(mending *x); /* what x->wrong says */
/* Answers that only call tools get a content. Behind all that may leave out a text; `alone`: nothing else was done, so
 * it is what is meant by empty. */
void mending_content(mending *x, bool alone);
mend_report mending_told(const mending *x); /* what was done, in numbers and words */

/* messages_thinking.c; each counts what it did. */
void mending_seal(mending *x);         /* a signature that is not taken, and what lacks one */
void mending_thinking_off(mending *x); /* the model is not asked to think */
void mending_sign_calls(mending *x); /* calls from elsewhere in the loop in progress say that they have no signature */
void mending_put_thinking(mending *x); /* Chat: answers say that they were thought about */

/* messages_content.c; each counts what it did. */
void mending_media(mending *x);  /* images and files that are not taken */
void mending_blocks(mending *x); /* content of an unknown kind that is named */
void mending_list(mending *x);   /* content becomes one string */
void mending_texts(mending *x);  /* content of nothing but texts becomes one string */
/* Which ids of calls a wire takes. */
typedef enum mending_id {
    ID_SHORT,   /* of so many bytes at most */
    ID_PLAIN,   /* ... which are letters, digits, _ and - */
    ID_OF_NINE, /* Mistral: "Tool call id was ... but must be a-z, A-Z, 0-9, with a length of 9." */
} mending_id;
void mending_ids(mending *x, size_t longest, mending_id rule);
void mending_nine(mending *x); /* ids of nine */
void mending_names(mending *x);
void mending_arguments(mending *x); /* that are no JSON object */
void mending_items(mending *x);     /* items of the Responses wire that the server does not have */
void mending_pieces(mending *x);    /* texts of the Responses wire whose type is another role's */
#endif
