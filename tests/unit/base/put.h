/* tests/unit/base/put.h - files that tests write. */
#ifndef TESTS_BASE_PUT_H
#define TESTS_BASE_PUT_H
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Write text to the file name below root, which exists, and make the folders between.  path: is set
 * to the whole name. */
static void put_file(char path[512], const char *root, const char *name, const char *text)
{
	FILE *f;

	snprintf(path, 512, "%s/%s", root, name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}
#endif
