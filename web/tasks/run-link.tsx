import { Link } from "@tanstack/react-router";
import { Shown } from "../parts/shown.tsx";

export const RunLink = ({ run, onFollow }: { run: string; onFollow(): void }) => (
  <Link to={`/runs/${run}`} onClick={onFollow}>
    run <Shown text={run} />
  </Link>
);
