/* tests/fuzz/replay.c - the main function of a fuzz target without libFuzzer: runs it once on
 * each file named; a crash or a sanitizer ends it. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	enum { MOST = 16 << 20 };
	FILE *f = fopen(path, "rb");
	uint8_t *data = f ? malloc(MOST) : NULL;

	if (!data) {
		perror(path);
		if (f)
			fclose(f);
		return 1;
	}
	size_t n = fread(data, 1, MOST, f);
	int bad = ferror(f);
	fclose(f);
	if (bad) {
		perror(path);
	} else {
		/* so that reading past the end is seen */
		uint8_t *tight = realloc(data, n ? n : 1);
		data = tight ? tight : data;
		LLVMFuzzerTestOneInput(data, n);
	}
	free(data);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= replay(argv[i]);
	if (argc < 2)
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
	return bad;
}
