import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { queryText } from '../../api/client.js';
import type { AllocFileInfo } from '../../api/contract.js';
import { download } from '../../api/download.js';
import { fileQuery, filesQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Failure } from '../../components/failure.js';
import { shortId } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { bytesInWords } from '../../words/sizes.js';
import { directoriesOf, inside, sortedFiles } from './file-path.js';
import styles from './files-page.module.css';

const route = getRouteApi('/allocations/$id/files');

/** The files of an allocation on its machine: directories, the beginning of a file, and its download. */
export function FilesPage() {
  const { id } = route.useParams();
  const { path = '/', file } = route.useSearch();
  const files = useQuery(filesQuery(id, path));
  return (
    <>
      <PageHead
        title="Files"
        above={<Link to="/allocations/$id" params={{ id }}>{`Allocation ${shortId(id)}`}</Link>}
        about={<Directories id={id} path={path} />}
      >
        <button
          type="button"
          className={buttons['button']}
          disabled={files.isFetching}
          onClick={() => void files.refetch()}
        >
          Read again
        </button>
      </PageHead>
      <Answer of={files}>
        {(all) => (
          <>
            <Directory id={id} path={path} files={all} />
            {file !== undefined && (
              <FileView key={file} id={id} path={inside(path, file)} info={all.find(({ Name }) => Name === file)} />
            )}
          </>
        )}
      </Answer>
    </>
  );
}

const Directories = ({ id, path }: { readonly id: string; readonly path: string }) => (
  <nav aria-label="Directories" className={styles['directories']}>
    {directoriesOf(path).map((directory) => (
      <Link key={directory.path} to="/allocations/$id/files" params={{ id }} search={{ path: directory.path }}>
        <code>{directory.name}</code>
      </Link>
    ))}
  </nav>
);

interface DirectoryProps {
  readonly id: string;
  readonly path: string;
  readonly files: readonly AllocFileInfo[];
}

const Directory = ({ id, path, files }: DirectoryProps) =>
  files.length === 0 ? (
    <Card>
      <Empty title="The directory is empty" />
    </Card>
  ) : (
    <Rows label="Files" columns={columnsOf(id, path)} rows={sortedFiles(files)} keyOf={({ Name }) => Name} />
  );

const columnsOf = (id: string, path: string): readonly Column<AllocFileInfo>[] => [
  {
    title: 'Name',
    px: 140,
    share: 3,
    cell: ({ Name, IsDir }) => (
      <Link
        to="/allocations/$id/files"
        params={{ id }}
        search={IsDir ? { path: inside(path, Name) } : { path, file: Name }}
      >
        <code>{IsDir ? `${Name}/` : Name}</code>
      </Link>
    ),
  },
  { title: 'Mode', extra: true, px: 100, cell: ({ FileMode }) => <code>{FileMode}</code> },
  { title: 'Size', px: 80, align: 'right', cell: ({ IsDir, Size }) => (IsDir ? '' : bytesInWords(Size)) },
  { title: 'Changed', px: 90, align: 'right', cell: ({ ModTime }) => <TimeAgo time={ModTime} /> },
];

interface FileViewProps {
  readonly id: string;
  readonly path: string;
  /** The file as its directory lists it; undefined if it is gone. */
  readonly info: AllocFileInfo | undefined;
}

function FileView({ id, path, info }: FileViewProps) {
  const save = useMutation({
    mutationFn: () =>
      download(`/v1/client/fs/cat/${encodeURIComponent(id)}${queryText({ path })}`, info?.Name ?? 'file'),
  });
  if (info === undefined)
    return (
      <Card>
        <Empty title="The file is gone" />
      </Card>
    );
  return (
    <Section
      title={info.Name}
      note={
        <button type="button" className={buttons['button']} disabled={save.isPending} onClick={() => save.mutate()}>
          Download
        </button>
      }
    >
      {save.isError && <Failure error={save.error} />}
      <Contents id={id} path={path} info={info} />
    </Section>
  );
}

function Contents({ id, path, info }: FileViewProps & { readonly info: AllocFileInfo }) {
  return (
    <Answer of={useQuery(fileQuery(id, path, info.Size))}>
      {({ text, isCut }) =>
        text === undefined ? (
          <Card>
            <Empty title="This is no text">
              <p>Download the file to see what is in it.</p>
            </Empty>
          </Card>
        ) : (
          <>
            <pre className={styles['text']} tabIndex={0} role="region" aria-label={`Content of ${info.Name}`}>
              {text}
            </pre>
            {isCut && <p className={styles['note']}>Only the beginning is shown; download it to see all.</p>}
          </>
        )
      }
    </Answer>
  );
}
