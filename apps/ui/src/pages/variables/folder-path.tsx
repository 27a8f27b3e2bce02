import { Link } from '@tanstack/react-router';
import { foldersAbove } from './variable-folder.js';

/** The folders above a path, as links. */
export const FolderPath = ({ path }: { readonly path: string }) => (
  <>
    <Link to="/variables">Variables</Link>
    {foldersAbove(path).map((folder) => (
      <span key={folder.path}>
        {' / '}
        <Link to="/variables" search={{ folder: folder.path }}>
          {folder.name}
        </Link>
      </span>
    ))}
  </>
);
