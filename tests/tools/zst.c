/* tests/tools/zst.c - zst FILE OUT [PARTS]: compress a file as zstd does, with a checksum; PARTS: in
 * so many frames. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { MOST = 256 << 20 };

static int frame(FILE *to, const unsigned char *at, size_t n)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(n), got = 0;
	void *out = malloc(room);

	if (c && out && !ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
		got = ZSTD_compress2(c, out, room, at, n);
	int bad = !got || ZSTD_isError(got) || fwrite(out, 1, got, to) != got;

	ZSTD_freeCCtx(c);
	free(out);
	return bad;
}

int main(int argc, char **argv)
{
	FILE *from = argc > 2 ? fopen(argv[1], "rb") : NULL;
	FILE *to = from ? fopen(argv[2], "wb") : NULL;
	unsigned char *at = to ? malloc(MOST) : NULL;
	size_t n = at ? fread(at, 1, MOST, from) : 0, parts = argc > 3 ? (size_t)atoi(argv[3]) : 1;
	int bad = !n || n == MOST || !parts;

	for (size_t i = 0; !bad && i < parts; i++)
		bad = frame(to, at + n * i / parts, n * (i + 1) / parts - n * i / parts);
	if (to && fclose(to))
		bad = 1;
	if (from)
		fclose(from);
	free(at);
	if (bad)
		fprintf(stderr, "usage: %s FILE OUT [PARTS]\n", *argv);
	return bad;
}
