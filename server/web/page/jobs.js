// Shows the jobs' names.
const answer = await fetch("/api/v1/jobs");
const { jobs = [] } = await answer.json();
document.getElementById("jobs").replaceChildren(
  ...jobs.map((job) => {
    const item = document.createElement("li");
    item.textContent = job.name;
    return item;
  }),
);
