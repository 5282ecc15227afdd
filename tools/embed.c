/* embed.c - prints a file as a C array, for what is part of the program: embed NAME FILE. */
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *f = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (!f)
        return 1;
    printf("static const unsigned char %s[] = {", argv[1]);
    for (int c; (c = getc(f)) != EOF;)
        printf("%d,", c);
    printf("};\n");
    return ferror(f) || fclose(f) ? 1 : 0;
}
