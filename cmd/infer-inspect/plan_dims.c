/* infer-inspect/plan_dims.c - models without weights: a size class, a config.json, a model of the hub. */
#include "plan.h"
#include "common/file.h"
#include "common/model.h"
#include "base/err.h"

#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };

static int is_config(const char *word)
{
	const char *base = strrchr(word, '/');

	return !strcmp(base ? base + 1 : word, "config.json");
}

/* True for hf:ORG/REPO[@REV], and for ORG/REPO if there is no such file. */
static int is_repository(const char *word)
{
	const char *slash = strchr(word, '/');

	if (!strncmp(word, "hf:", 3))
		return !strchr(word + 3, ':');
	return slash && slash > word && slash[1] && !strchr(slash + 1, '/') && !strchr(word, ':') &&
	       *word != '.' && *word != '~' && access(word, F_OK) != 0;
}

int plan_find_config(int *without, const char **config, const char *word, infer_error *err)
{
	infer_error none;
	const char *path;

	*without = 0;
	*config = NULL;
	if (!word)
		return INFER_OK;
	if (infer_dims_is_class(word) && access(word, F_OK) != 0) {
		*without = 1;
		return INFER_OK;
	}
	if (is_config(word)) {
		*config = word;
		*without = 1;
		return INFER_OK;
	}
	if (!is_repository(word) ||
	    (!strncmp(word, "hf:", 3) && !model_path_cached(&path, word, &none)))
		return INFER_OK;
	int rc = model_config(config, word, err);

	*without = !rc;
	/* without a config.json it has a GGUF file, which is downloaded, and bare names are explained */
	return rc == INFER_EINVAL || strncmp(word, "hf:", 3) != 0 ? INFER_OK : rc;
}

static int read_config(struct planned *p, const char *path, infer_error *err)
{
	struct buf text;

	buf_init(&text, MEM_BASE);
	int rc = file_read(&text, path, MOST_BYTES, err);

	if (!rc)
		rc = infer_dims_config(&p->dims, text.len ? text.at : "", text.len, p->named, err);
	buf_fini(&text);
	return rc;
}

int plan_take_dims(struct planned *p, const char *word, struct buf *path, infer_error *err)
{
	const char *config = p->o->plan.config, *slash = strrchr(word, '/');

	p->named = word;
	if (config)
		TRY(read_config(p, config, err));
	else
		TRY(infer_dims_class(&p->dims, word, err));
	if (!config)
		buf_puts(path, "MODEL.gguf");
	else if (!is_config(word))
		buf_printf(path, "%s%s", strncmp(word, "hf:", 3) ? "hf:" : "", word);
	else
		buf_printf(path, "%.*s", slash ? (int)(slash - word) + (slash == word) : 1,
		           slash ? word : ".");
	if (path->bad)
		return err_set(err, INFER_ENOMEM, "out of memory for a path");
	p->path = path->at;
	return infer_dims_shape(&p->shape, &p->dims, err);
}
