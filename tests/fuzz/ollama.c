/* tests/fuzz/ollama.c - any bytes as a manifest, a name and a template of Ollama: refused in one line, or digests and
 * paths that stay in the store.
 * Input: the manifest, the template; up to the first NUL the name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/err.h"
#include "hub/ref.h"
#include "hub/store.h"

static void check_hex(const char *hex) { must(!*hex || hub_is_hex(hex, OLLAMA_HEX - 1)); }

/* A path of four parts, none of them hidden or "..". */
static void check_path(const char *path)
{
	int slashes = 0;

	must(*path != '/' && *path != '.');
	for (const char *s = path; *s; s++) {
		slashes += *s == '/';
		must(*s != '/' || (s[1] && s[1] != '/' && s[1] != '.'));
		must(*s > ' ' && *s != '\\' && *s < 127);
	}
	must(slashes == 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *tight = malloc(size + !size), *name = malloc(size + 1);
	struct ollama_layers l;
	struct ollama_name n;
	infer_error err = { 0 };
	const char *family = NULL;

	if (!tight || !name)
		abort();
	memcpy(tight, data, size);
	memcpy(name, data, size);
	name[size] = 0;
	int rc = ollama_manifest(&l, tight, size, "manifest", &err);

	must(!rc || rc == INFER_EFORMAT || rc == INFER_EUNSUP);
	must(rc ? !strncmp(err.message, "manifest: ", 10) : *l.model && l.model_bytes);
	check_hex(l.model);
	check_hex(l.chat);
	check_hex(l.projector);
	must(!ollama_template(tight, size, &family) == !family);
	rc = ollama_name_parse(&n, name, &err);
	must(!rc || rc == INFER_EINVAL);
	if (!rc)
		check_path(n.path);
	free(tight);
	free(name);
	return 0;
}
