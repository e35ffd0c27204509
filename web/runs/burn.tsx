import { useState } from "react";
import type { Output } from "../client/call.ts";
import { useOperation } from "../client/query.ts";
import { Failed, Loading } from "../parts/state.tsx";
import { duration } from "../parts/time.tsx";

const liveMs = 4000;
const partWords: Record<string, string> = {
  brief: "Specification",
  pm: "Planner",
  preamble: "Role texts",
  worker: "Workers",
  qc: "Verifiers",
  reporter: "Reports",
};
const tones = ["--muted", "--busy", "--code-token-function", "--good", "--warn", "--field", "--accent", "--bad"];

type Data = Output<"run_burn">;

const spellTokens = (value: number) => Math.round(value).toLocaleString("en-GB");
const spellUsd = (value: number) => `$${value.toFixed(value !== 0 && value < 0.1 ? 3 : 2)}`;

/** How tokens and cost grew, by part and model, against the budget. */
export function Burn({ run, isLive }: { run: string; isLive: boolean }) {
  const { data, error, refetch } = useOperation("run_burn", { id: run }, { everyMs: isLive ? liveMs : false });
  const [wanted, setUnit] = useState<"tokens" | "usd">();
  if (error) return <Failed error={error} again={() => void refetch()} />;
  if (!data) return <Loading />;
  const totals = { tokens: total(data, "tokens"), usd: total(data, "usd") };
  const unit = wanted ?? (totals.tokens > 0 || totals.usd === 0 ? "tokens" : "usd");
  return (
    <section className="burn" aria-labelledby="burn-title">
      <div className="timeline-head">
        <h2 id="burn-title">Usage</h2>
        <div className="chips">
          {(["tokens", "usd"] as const).map((one) => (
            <button
              key={one}
              type="button"
              className="chip"
              aria-pressed={unit === one}
              data-on={unit === one || undefined}
              onClick={() => setUnit(one)}
            >
              {one === "tokens" ? "Tokens" : "Dollars"}
            </button>
          ))}
        </div>
      </div>
      {totals[unit] === 0 ? (
        <p className="muted">
          {unit === "usd"
            ? "No cost is known: the agents reported none."
            : `No tokens were reported${isLive ? " yet" : ""}.`}
        </p>
      ) : (
        <Curve data={data} unit={unit} />
      )}
      <Left data={data} />
    </section>
  );
}

const total = ({ series }: Data, unit: "tokens" | "usd") =>
  series.reduce((sum, one) => sum + (one[unit].at(-1) ?? 0), 0);

function Left({ data: { budget, spent, left } }: { data: Data }) {
  return (
    <p className="facts">
      {budget.tokens !== null && left.tokens !== null ? (
        <span>
          {spellTokens(left.tokens)} of {spellTokens(budget.tokens)} tokens left
        </span>
      ) : (
        <span>{spellTokens(spent.tokens)} tokens, no limit</span>
      )}
      {budget.usd !== null && left.usd !== null ? (
        <span>
          {spellUsd(left.usd)} of {spellUsd(budget.usd)} left
        </span>
      ) : (
        <span>{spellUsd(spent.usd)}, no limit</span>
      )}
    </p>
  );
}

const [width, height] = [800, 160];

/** Areas on top of each other, with the budget as a line where it is in reach. */
function Curve({ data, unit }: { data: Data; unit: "tokens" | "usd" }) {
  const series = data.series.filter((one) => (one[unit].at(-1) ?? 0) > 0);
  const steps = series[0]?.[unit].length ?? 1;
  const spent = total(data, unit);
  const limit = data.budget[unit];
  const showsLimit = limit !== null && limit <= spent * 4;
  const top = Math.max(spent, showsLimit ? limit : 0) * 1.08;
  const spell = unit === "tokens" ? spellTokens : spellUsd;
  const x = (at: number) => (steps === 1 ? width : (at / (steps - 1)) * width);
  const y = (value: number) => height - (value / top) * height;
  let below = Array.from({ length: steps }, () => 0);
  const areas = series.map((one, n) => {
    const above = below.map((value, at) => value + (one[unit][at] ?? 0));
    const up = above.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    const down = below.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).reverse();
    const start = steps === 1 ? [`0,${height}`] : [];
    below = above;
    return { one, points: [...start, ...up, ...down].join(" "), tone: tones[n % tones.length] ?? "--busy" };
  });
  const words = series.map((one) => `${nameOf(one)} ${spell(one[unit].at(-1) ?? 0)}`).join(", ");
  const lasted = duration(data.step_ms * Math.max(1, steps - 1));
  return (
    <figure className="burn-chart">
      <div className="burn-plot">
        {!showsLimit && <span className="burn-top muted small">{spell(top)}</span>}
        <svg
          viewBox={`0 0 ${width} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`Usage over ${lasted}: ${words}${limit === null ? "" : `; budget ${spell(limit)}`}`}
        >
          {areas.map(({ one, points, tone }) => (
            <polygon key={nameOf(one)} points={points} style={{ fill: `var(${tone})` }} />
          ))}
          {showsLimit && <line className="burn-limit" x1={0} x2={width} y1={y(limit)} y2={y(limit)} />}
        </svg>
        <span className="burn-end muted small">{lasted}</span>
      </div>
      <ul className="timeline-legend">
        {areas.map(({ one, tone }) => (
          <li key={nameOf(one)}>
            <span className="swatch" style={{ background: `var(${tone})` }} />
            {nameOf(one)}: {spell(one[unit].at(-1) ?? 0)}
          </li>
        ))}
        {limit !== null && <li>Budget: {spell(limit)}</li>}
      </ul>
    </figure>
  );
}

const nameOf = ({ part, model, runner }: Data["series"][number]) => `${partWords[part] ?? part} (${model ?? runner})`;
