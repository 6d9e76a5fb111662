/* tests/tools/json.c - read JSON texts from stdin, each after its length (4 bytes,
 * little-endian), and print a line for each: the value as jw_value writes it, or "! " and the
 * error.  For scripts/check-json.py. */
#include "base/jread.h"
#include "base/jwrite.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	unsigned char head[4];
	struct arena mem;
	struct buf text, line;

	arena_init(&mem, MEM_BASE);
	buf_init(&text, MEM_BASE);
	buf_init(&line, MEM_BASE);
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 |
		           (size_t)head[3] << 24;
		const struct json *v;
		infer_error err;
		struct jwrite w;

		buf_clear(&text);
		buf_clear(&line);
		arena_reset(&mem);
		if (buf_reserve(&text, n) || fread(text.at, 1, n, stdin) != n)
			return EXIT_FAILURE;
		if (jread(&v, &mem, text.at, n, "text", &err)) {
			buf_printf(&line, "! %s\n", err.message);
		} else {
			jw_init(&w, &line);
			jw_value(&w, NULL, v);
			jw_line(&w);
		}
		if (line.bad || fwrite(line.at, 1, line.len, stdout) != line.len)
			return EXIT_FAILURE;
	}
	buf_fini(&line);
	buf_fini(&text);
	arena_fini(&mem);
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
