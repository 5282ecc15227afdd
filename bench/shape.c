/* bench/shape - prints a request of one shape (bench/shapes.c), for who sends it over real sockets.
 *
 *     bench_shape                      the names of the shapes, one a line
 *     bench_shape loop chat 1048576    one of a megabyte; prints nothing and exits 1 where the dialect has none */
#include "shapes.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ROOM ((size_t)1 << 30) /* of addresses */

int main(int argc, char **argv)
{
    if (argc != 4) {
        for (size_t i = 0; shape_name(i); i++)
            puts(shape_name(i));
        return argc != 1;
    }
    char *mem = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        return 1;
    daruma_arena a = arena_over(mem, ROOM);
    daruma_str body = shape_body(str_of(argv[1]), str_of(argv[2]), strtoul(argv[3], NULL, 10), &a);
    fwrite(body.p, 1, body.n, stdout);
    return !body.n;
}
