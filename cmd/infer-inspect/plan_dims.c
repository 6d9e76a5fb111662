/* infer-inspect/plan_dims.c - models without weights: a size class, a config.json. */
#include "plan.h"
#include "common/file.h"
#include "base/err.h"

#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };

static int is_config(const char *word)
{
	const char *base = strrchr(word, '/');

	return !strcmp(base ? base + 1 : word, "config.json");
}

int plan_needs_no_file(const char *word)
{
	return word && (is_config(word) || (infer_dims_is_class(word) && access(word, F_OK) != 0));
}

static int read_config(struct planned *p, const char *word, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, word, MOST_BYTES, err);

	if (!rc)
		rc = infer_dims_config(&p->dims, text.len ? text.at : "", text.len, word, err);
	buf_fini(&text);
	return rc;
}

int plan_take_dims(struct planned *p, const char *word, struct buf *path, infer_error *err)
{
	p->named = word;
	if (is_config(word)) {
		const char *slash = strrchr(word, '/');

		TRY(read_config(p, word, err));
		buf_printf(path, "%.*s", slash ? (int)(slash - word) + (slash == word) : 1,
		           slash ? word : ".");
	} else {
		TRY(infer_dims_class(&p->dims, word, err));
		buf_puts(path, "MODEL.gguf");
	}
	if (path->bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	p->path = path->at;
	return infer_dims_shape(&p->shape, &p->dims, err);
}
