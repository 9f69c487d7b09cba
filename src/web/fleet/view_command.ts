// The command that opens the report of a rank.
import type { FleetRank } from "../shared/data";

/** As a shell takes it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

export const viewCommand = (rank: FleetRank): string => `gprof-cli view ${shellWord(rank.path)}`;
