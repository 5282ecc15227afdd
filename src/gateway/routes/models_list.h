/* models_list.h - lists of models: how each dialect has them, and one list made of several. */
#ifndef GATEWAY_ROUTES_MODELS_LIST_H
#define GATEWAY_ROUTES_MODELS_LIST_H
#include "gateway/inside.h"

/* https://platform.openai.com/docs/api-reference/models, https://docs.anthropic.com/en/api/models-list,
 * https://ai.google.dev/api/models */
typedef struct models_shape {
    const dialect *d;
    daruma_str path;   /* of the list */
    daruma_str list;   /* the member that holds the models; some servers send the array alone */
    daruma_str id;     /* the member of a model that holds its name ... */
    daruma_str folder; /* ... behind this */
    daruma_str all;    /* the query for a page that holds all models; empty: there are no pages */
    daruma_str size;   /* member of the client's query: so many models in a page ... */
    daruma_str after;  /* ... those behind this one ... */
    daruma_str before; /* ... or those before this one; empty: there is no such member */
} models_shape;

const models_shape *models_shape_of(const dialect *d);
/* The shape that a client reads: that of its dialect, but behind "/openai/" that of OpenAI, at Google as well. */
const models_shape *models_shape_asked(const http_head *h);
/* Appends a model of which no more is known than its name, and what the configuration says of it (`m`, may be NULL). */
void models_put(daruma_buf *out, const models_shape *as, daruma_str name, const config_model *m, daruma_arena *a);
/* Is that entry of the configuration one name, and no form of names? */
bool models_is_name(const config_model *m);

/* One model of a list. */
typedef struct models_entry {
    daruma_str name;           /* as clients ask for it */
    daruma_str raw;            /* as its provider lists it; empty: it is written here */
    const config_model *model; /* NULL: it is a provider's */
} models_entry;

/* A list as it grows. */
typedef struct models_list {
    const models_shape *as;      /* that it is written in */
    const config_client *client; /* whose models alone are taken; NULL: all */
    models_entry *at;
    size_t n, room;
    uint32_t *places; /* open addressing: 1 + the index of an entry; twice as many as entries, a power of two */
    size_t mask;
} models_list;

/* Makes room for so many models; as and client are set. False without memory. */
bool models_list_begin(models_list *e, size_t room, daruma_arena *a);
/* Adds the names of the configuration. */
void models_list_own(models_list *e, const config *c);
/* The array of models in a provider's answer; empty: it is no list. */
daruma_str models_array(daruma_str body, const models_shape *from);
/* Adds the models of such an array. */
void models_list_add(models_list *e, daruma_str array, const models_shape *from, daruma_arena *a);
/* Appends the page of the list that the client's query asks for: all of it where that says nothing. */
void models_list_put(daruma_buf *out, const models_list *e, daruma_str query, daruma_arena *a);

/* ---- lists that are known for a short time ---- */

/* The array of models kept for `of` that is no older than age_max, and how old it is; empty: there is none. It lives
 * until the next put. */
daruma_str models_kept_get(models_kept *m, uint64_t of, daruma_ms now, daruma_ms age_max, daruma_ms *ret_age);
/* Keeps a copy, in the place of the oldest ones where there is no room; made when it is first needed. */
void models_kept_put(models_kept **at, uint64_t of, daruma_str array, daruma_ms now);
#endif
