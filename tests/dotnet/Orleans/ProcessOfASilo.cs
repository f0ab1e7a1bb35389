using System.Diagnostics;
using Microsoft.Extensions.Hosting;

namespace Tidemark.Tests.Silos;

/// A silo in a process of its own. It leaves the cluster when its input ends, so it does not outlive the cases.
public sealed class ProcessOfASilo
{
    const string Ready = "ready";
    readonly Process process;

    ProcessOfASilo(Process process) => this.process = process;

    public static async Task<ProcessOfASilo> Start(Silo silo)
    {
        var start = new ProcessStartInfo("dotnet", [typeof(Program).Assembly.Location, Program.SiloWord, silo.Cluster, silo.Name, $"{silo.Port}"])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        var started = new ProcessOfASilo(Process.Start(start)!);
        Assert.Equal(Ready, await started.process.StandardOutput.ReadLineAsync());
        return started;
    }

    /// Ends it with SIGKILL.
    public void Kill()
    {
        if (process.HasExited) return;
        process.Kill();
        process.WaitForExit();
    }

    /// What such a process does.
    public static async Task<int> Run(Silo silo)
    {
        using var host = silo.Build();
        await host.StartAsync();
        Console.WriteLine(Ready);
        await Console.In.ReadToEndAsync();
        await host.StopAsync();
        return 0;
    }
}
