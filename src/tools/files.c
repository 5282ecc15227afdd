/* files.c - tools over files below one folder, and their words about what goes wrong. */
#include "tools/files.h"
#include "sys/beneath.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define STRING       "{\"type\":\"string\"}"
#define PATH_SAYS    "\"path\":{\"type\":\"string\",\"description\":\"full relative path from the root\"}"
#define OBJECT(m, r) "{\"type\":\"object\",\"properties\":{" m "},\"required\":[" r "],\"additionalProperties\":false}"
#define READS        (DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS)
#define WRITES       (DARUMA_TOOL_KNOWN | DARUMA_TOOL_WRITES)

enum { PRINT_TEXT = 1, PRINT_ERROR }; /* what a fingerprint is of: a file's text, or why it cannot be read */

/* What a call works with. */
typedef struct files {
    int root;
    daruma_str writer;
    daruma_str tool, args;
    daruma_arena *a;
    daruma_buf *out;
    const atomic_bool *stop; /* nobody waits for it any more */
} files;

int files_root(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* ---- errors: a code, what is wrong, what to do next ---- */

static bool fail(files *f, const char *code, daruma_str about, const char *what, const char *next)
{
    return tool_error(f->out, code, about, what, next);
}

static bool fail_errno(files *f, daruma_str path, int error)
{
    static const struct {
        int error;
        const char *code, *what, *next;
    } rows[] = {
        {ENOENT, "FILE_NOT_FOUND", "does not exist (ENOENT)",
         "look for it with fs.list or fs.search, and use the full path that they print"},
        {ENOTDIR, "NOT_A_DIRECTORY", "is not a folder, or a part of it is a file", "list its parent with fs.list"},
        {EISDIR, "NOT_A_FILE", "is a folder", "list it with fs.list"},
        {ELOOP, "PATH_DENIED", "is or leads through a symbolic link, which is not followed",
         "use the path that the link points to, if it is below the root"},
        {EACCES, "PERMISSION_DENIED", "may not be opened", "ask the user for access, or use another file"},
        {EXDEV, "PATH_DENIED", "leads out of the root, or is no path",
         "use a path below the root, without `..` and without a slash at its beginning"},
        {EFBIG, "FILE_TOO_LARGE", "is larger than can be read, or no plain file",
         "use a smaller file, or ask the user for the part of it that matters"},
        {ENOSPC, "DISK_FULL", "could not be written: no space left on device (ENOSPC)",
         "ask the user to free some space"},
        {EDQUOT, "DISK_FULL", "could not be written: no space left on device for this user (EDQUOT)",
         "ask the user to free some space"},
        {EROFS, "PERMISSION_DENIED", "is on a file system that is read-only", "ask the user where you may write"},
    };
    char what[120];
    path = path.n ? path : S(".");
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].error == error)
            return fail(f, rows[i].code, path, rows[i].what, rows[i].next);
    snprintf(what, sizeof what, "could not be used: %.80s", strerror(error));
    return fail(f, "INTERNAL_ERROR", path, what, "try another file");
}

/* ---- reading ---- */

static bool read_path(files *f, daruma_str path, daruma_str *ret)
{
    return beneath_read(f->root, path, FILE_BYTES_MAX, f->a, ret) || fail_errno(f, path, errno);
}

static daruma_str arg(const files *f, daruma_str name)
{
    return json_text(json_get(f->args, name), f->a);
}

static bool is_utf16(daruma_str all)
{
    return str_starts(all, S("\xff\xfe")) || str_starts(all, S("\xfe\xff"));
}

static bool is_text(daruma_str s)
{
    return !is_utf16(s) && (!s.n || !memchr(s.p, 0, s.n));
}

static bool fail_no_text(files *f, daruma_str path, daruma_str all)
{
    if (is_utf16(all))
        return fail(f, "NOT_A_TEXT", path, "is UTF-16, which is not read", "ask the user for it as UTF-8");
    return fail(f, "NOT_A_TEXT", path, "holds bytes that are no text",
                "do without it, or read the source that it is made from");
}

static bool do_read(files *f)
{
    daruma_str path = arg(f, S("path")), text;
    int64_t from = json_int(json_get(f->args, S("line")), 1), lines = json_int(json_get(f->args, S("lines")), -1);
    if (!read_path(f, path, &text))
        return false;
    int64_t number = 1;
    daruma_str rest = text;
    for (; number < from && rest.n; number++)
        str_cut(&rest, '\n');
    if (number < from)
        return fail(f, "OFFSET_OUT_OF_RANGE", path, "has fewer lines", "read it without `line`");
    daruma_str end = rest;
    for (int64_t i = 0; i < lines && end.n; i++)
        str_cut(&end, '\n');
    daruma_str shown = lines <= 0 ? rest : str_sub(rest, 0, rest.n - end.n);
    if (is_utf16(text) || !is_text(shown))
        return fail_no_text(f, path, text);
    buf_put(f->out, shown);
    if (!f->out->n)
        BUF_LIT(f->out, "(the file is empty)");
    return true;
}

/* ---- folders ---- */

static bool do_list(files *f)
{
    char **names = ARENA_NEW(f->a, char *, FILES_NAMES_MAX);
    daruma_str path = arg(f, S("path"));
    int fd = names ? beneath_folder(f->root, path) : -1;
    if (fd < 0)
        return names && fail_errno(f, path, errno);
    size_t n = beneath_names(fd, f->a, names, FILES_NAMES_MAX);
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        buf_putz(f->out, names[i]);
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
            buf_putc(f->out, '/');
        buf_putc(f->out, '\n');
    }
    close(fd);
    if (!n)
        BUF_LIT(f->out, "(the folder is empty)");
    if (n == FILES_NAMES_MAX)
        BUF_LIT(f->out, "(there are more)\n");
    return true;
}

/* ---- searching ---- */

enum { HUNT_BYTES = FILE_SEARCH_BYTES_MAX + 2 * FILE_PIECE_BYTES };

typedef struct hunt {
    files *f;
    daruma_str text;
    size_t hits, seen;
    size_t unread; /* files that are too large, no text, or cannot be opened */
    char *bytes;   /* room for one file */
} hunt;

static void look_through(hunt *h, daruma_str all, daruma_str path)
{
    daruma_str text;
    for (int64_t line = 1; all.n && h->hits < FILES_HITS_MAX; line++) {
        text = str_cut(&all, '\n');
        if (str_find(text, h->text) == STR_NONE)
            continue;
        h->hits++;
        BUF_SAY(h->f->out, path, ":", line, ": ", str_trim(str_sub(text, 0, FILES_LINE_BYTES_MAX)), "\n");
    }
}

static void look_into(hunt *h, int fd, daruma_str path)
{
    daruma_arena room = arena_over(h->bytes, HUNT_BYTES);
    daruma_str all;
    if (beneath_read_open(fd, FILE_SEARCH_BYTES_MAX, &room, &all) && is_text(all))
        look_through(h, all, path);
    else
        h->unread++;
}

/* Goes through a folder and all below it. */
static void hunt_folder(hunt *h, int fd, daruma_str path, int depth)
{
    char **names = ARENA_NEW(h->f->a, char *, FILES_NAMES_MAX);
    size_t n = names ? beneath_names(fd, h->f->a, names, FILES_NAMES_MAX) : 0;
    for (size_t i = 0; i < n && h->hits < FILES_HITS_MAX && h->seen++ < FILES_SEEN_MAX; i++) {
        struct stat st;
        if (atomic_load_explicit(h->f->stop, memory_order_relaxed))
            break;
        daruma_buf b = buf_in(h->f->a);
        buf_put(&b, path);
        if (path.n)
            buf_putc(&b, '/');
        buf_putz(&b, names[i]);
        if (fstatat(fd, names[i], &st, AT_SYMLINK_NOFOLLOW) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
            continue;
        int in = openat(fd, names[i], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (in < 0) {
            h->unread++;
            continue;
        }
        if (!S_ISDIR(st.st_mode))
            look_into(h, in, buf_str(&b));
        else if (depth > 0 && names[i][0] != '.')
            hunt_folder(h, in, buf_str(&b), depth - 1);
        close(in);
    }
}

static bool do_search(files *f)
{
    daruma_str path = arg(f, S("path"));
    hunt h = {.f = f, .text = arg(f, S("text")), .bytes = arena_raw(f->a, HUNT_BYTES, 1)};
    if (!h.text.n)
        return fail(f, "MISSING_INPUT", h.text, "`text` is empty", "say what to look for");
    daruma_str one = {0};
    int fd = h.bytes ? beneath_folder(f->root, path) : -1;
    if (fd < 0 && (!h.bytes || errno != ENOTDIR))
        return h.bytes && fail_errno(f, path, errno);
    if (fd < 0 && !read_path(f, path, &one)) /* else it is a file */
        return false;
    if (!is_text(one))
        return fail_no_text(f, path, one);
    while (path.n && path.p[path.n - 1] == '/')
        path.n--;
    if (str_starts(path, S("./")))
        path = str_from(path, 2);
    if (fd < 0) {
        look_through(&h, one, path);
    } else {
        hunt_folder(&h, fd, str_eq(path, S(".")) ? (daruma_str){0} : path, FILES_DEPTH_MAX);
        close(fd);
    }
    if (!h.hits)
        BUF_LIT(f->out, "(nothing was found)");
    if (h.unread)
        BUF_SAY(f->out, h.hits ? "" : "\n", "(not looked into: ", h.unread,
                " files that are too large, no text, or cannot be opened)\n");
    if (h.seen > FILES_SEEN_MAX)
        BUF_SAY(f->out, h.hits ? "" : "\n", "(there are more than ", FILES_SEEN_MAX,
                " files: look below a folder of them)\n");
    if (h.hits == FILES_HITS_MAX)
        BUF_LIT(f->out, "(there is more: look for something rarer)\n");
    return true;
}

/* ---- writing ---- */

static bool is_write(const files *f)
{
    return str_eq(f->tool, S("fs.write"));
}

/* What would stand in a file that holds `text` now, which a write does not look at. False: why not was said. */
static bool make_text(files *f, daruma_str path, daruma_str text, daruma_str *ret)
{
    daruma_str was = arg(f, S("old")), is = arg(f, S("new"));
    size_t at = was.n ? str_find(text, was) : STR_NONE;
    if (is_write(f)) {
        *ret = arg(f, S("content"));
        return true;
    }
    if (!was.n)
        return fail(f, "MISSING_INPUT", path, "was not edited: `old` is empty",
                    "copy a text that stands there, or write the whole file with fs.write");
    if (at == STR_NONE)
        return fail(f, "MATCH_NOT_FOUND", path, "does not hold `old`", "read the file and copy the text exactly");
    if (str_find(str_from(text, at + 1), was) != STR_NONE)
        return fail(f, "AMBIGUOUS_MATCH", path, "holds `old` more than once", "add lines around it until it is unique");
    if (str_eq(was, is))
        return fail(f, "NO_CHANGE", path, "would stay as it is", "say what shall stand there instead");
    *ret = STR_SAY(f->a, str_sub(text, 0, at), is, str_from(text, at + was.n));
    return !f->a->full;
}

static bool do_change(files *f)
{
    daruma_str path = arg(f, S("path")), text = {0};
    if ((!is_write(f) && !read_path(f, path, &text)) || !make_text(f, path, text, &text))
        return false;
    if (!beneath_write(f->root, path, text, f->writer))
        return fail_errno(f, path, errno);
    files_done(f->tool, f->args, f->a, f->out);
    return true;
}

/* ---- looking at what a call changes ---- */

static uint64_t print_of(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p ? s.p : "", s.n, seed);
}

static bool changes(daruma_str tool)
{
    return str_eq(tool, S("fs.write")) || str_eq(tool, S("fs.edit"));
}

bool files_look(int root, daruma_str tool, daruma_str args, daruma_arena *scratch, uint64_t *ret_now,
                uint64_t *ret_after)
{
    daruma_buf out = buf_in(scratch);
    files f = {.root = root, .tool = tool, .args = args, .a = scratch, .out = &out};
    daruma_str text = {0}, path = arg(&f, S("path"));
    if (!changes(tool))
        return false;
    bool read = read_path(&f, path, &text);
    daruma_str code = buf_str(&out);
    *ret_now = *ret_after = read ? print_of(text, PRINT_TEXT) : print_of(str_cut(&code, ':'), PRINT_ERROR);
    if ((read || is_write(&f)) && make_text(&f, path, text, &text))
        *ret_after = print_of(text, PRINT_TEXT);
    return !scratch->full;
}

void files_clear(const files_place *p, daruma_str tool, daruma_str args, daruma_arena *scratch)
{
    if (changes(tool))
        beneath_clear(p->root, json_text(json_get(args, S("path")), scratch), p->writer);
}

void files_done(daruma_str tool, daruma_str args, daruma_arena *scratch, daruma_buf *out)
{
    if (str_eq(tool, S("fs.write")))
        BUF_SAY(out, "written: ", json_text(json_get(args, S("content")), scratch).n, " bytes");
    else
        BUF_LIT(out, "edited");
}

/* What there is, and what carries it out. */
static const struct {
    agent_tool tool;
    bool (*run)(files *f);
} works[] = {
    {{.about = {LIT("fs.list"), LIT("Lists a folder: one name a line, folders with a slash. Without a path: the root."),
                LIT(OBJECT(PATH_SAYS, "")), READS}},
     do_list},
    {{.about =
          {LIT("fs.read"),
           LIT("Reads a text file. The path is the full relative path from the root, as fs.search and fs.list print "
               "it: of `src/a.c:50: text` it is `src/a.c`, not `a.c`. With `line` and `lines` only a part."),
           LIT(OBJECT(PATH_SAYS ",\"line\":{\"type\":\"integer\"},\"lines\":{\"type\":\"integer\"}", "\"path\"")),
           READS}},
     do_read},
    {{.about = {LIT("fs.search"),
                LIT("Looks for a text in all files below a path, letters as they are. Prints `path:line: text`."),
                LIT(OBJECT("\"text\":" STRING "," PATH_SAYS, "\"text\"")), READS}},
     do_search},
    {{.about = {LIT("fs.write"), LIT("Writes a whole file, whatever stood in it. Its folders are made."),
                LIT(OBJECT(PATH_SAYS ",\"content\":" STRING, "\"path\",\"content\"")), WRITES},
      .ask = true},
     do_change},
    {{.about = {LIT("fs.edit"), LIT("Replaces `old` by `new` in a file; `old` must stand in it exactly once."),
                LIT(OBJECT(PATH_SAYS ",\"old\":" STRING ",\"new\":" STRING, "\"path\",\"old\",\"new\"")),
                DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
      .ask = true},
     do_change},
};

bool files_call(const files_place *p, daruma_str tool, daruma_str args, const atomic_bool *stop, daruma_arena *scratch,
                daruma_buf *out)
{
    files f = {
        .root = p->root, .writer = p->writer, .tool = tool, .args = args, .a = scratch, .out = out, .stop = stop};
    for (size_t i = 0; i < COUNT(works); i++)
        if (str_eq(works[i].tool.about.name, tool))
            return works[i].run(&f);
    return fail(&f, "COMMAND_NOT_FOUND", tool, "is no tool of this host", "use one of the tools that were offered");
}

/* ---- as a source of tools: a call works in a thread of libuv's, since a disk or a search may take its time ---- */

typedef struct files_work {
    uv_work_t work;
    tool_call *c;
    bool well;
} files_work;

static void in_thread(uv_work_t *work)
{
    files_work *w = work->data;
    tool_call *c = w->c;
    w->well = files_call(c->own, c->about->about.name, c->args, &c->stopped, &c->room, &c->out);
}

static void behind_thread(uv_work_t *work, int status)
{
    files_work *w = work->data;
    tool_over(w->c, status == 0 && w->well, false);
}

static void start(tool_call *c)
{
    files_work *w = ARENA_NEW(&c->room, files_work, 1);
    if (w) {
        w->c = c;
        w->work.data = c->work = w;
        if (uv_queue_work(c->loop, &w->work, in_thread, behind_thread) == 0)
            return;
    }
    tool_over(c, 0, false);
}

static void stop(tool_call *c)
{
    files_work *w = c->work;
    uv_cancel((uv_req_t *)&w->work); /* when it has not begun; a search looks at c->stopped */
}

bool files_add(toolset *t, files_place *p)
{
    static const tool_source source = {.start = start, .stop = stop};
    for (size_t i = 0; i < COUNT(works); i++)
        if (!toolset_add(t, &works[i].tool, &source, p))
            return false;
    return true;
}
